package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const question1 = "question"

// stepTime lets a progress notification arrive before the next one or the result.
const stepTime = 30 * time.Millisecond

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// serveSDK serves with the official Go SDK, in both eras.
func serveSDK(o options) {
	server := mcp.NewServer(&mcp.Implementation{Name: "interop-go-sdk", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, request *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			values := completions(request.Params.Argument.Value)
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, tool := range offer.Tools {
		definition := &mcp.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema}
		if tool.OutputSchema != nil {
			definition.OutputSchema = tool.OutputSchema
		}
		server.AddTool(definition, sdkTool(server, tool.Name))
	}
	arguments := []*mcp.PromptArgument{{Name: "name", Required: true}}
	server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: arguments}, sdkPrompt)
	for _, resource := range offer.Resources {
		server.AddResource(&mcp.Resource{URI: resource.URI, Name: resource.Name, MIMEType: "text/plain"}, sdkResource)
	}
	for _, template := range offer.Templates {
		server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template.URITemplate, Name: template.Name}, sdkResource)
	}
	get := func(*http.Request) *mcp.Server { return server }
	switch o.transport {
	case "stdio":
		_ = server.Run(context.Background(), &mcp.StdioTransport{})
	case "sse":
		panic(http.ListenAndServe(o.address(), mcp.NewSSEHandler(get, nil)))
	default:
		handler := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: o.isStateless})
		panic(http.ListenAndServe(o.address(), handler))
	}
}

func sdkPrompt(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	content := &mcp.TextContent{Text: "Hello, " + request.Params.Arguments["name"]}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: content}}}, nil
}

func sdkResource(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := request.Params.URI
	contents := &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: resourceText(uri)}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

func sdkTool(server *mcp.Server, name string) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments struct {
			Text, Token string
			A, B        float64
		}
		if len(request.Params.Arguments) > 0 {
			if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
		}
		s := request.Session
		switch name {
		case "echo":
			return textResult(arguments.Text), nil
		case "image":
			data, _ := base64.StdEncoding.DecodeString(offer.Image)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: data, MIMEType: "image/png"}}}, nil
		case "structured":
			sum := arguments.A + arguments.B
			added := textResult(fmt.Sprint(sum))
			added.StructuredContent = map[string]any{"sum": sum}
			return added, nil
		case "fail":
			failed := &mcp.CallToolResult{}
			failed.SetError(errors.New("failed on purpose"))
			return failed, nil
		case "progress":
			for step := 1.0; step <= 4 && request.Params.GetProgressToken() != nil; step++ {
				params := &mcp.ProgressNotificationParams{ProgressToken: request.Params.GetProgressToken(), Progress: step, Total: 4}
				_ = s.NotifyProgress(ctx, params)
				time.Sleep(stepTime)
			}
			return textResult("done"), nil
		case "slow":
			note("started", arguments.Token)
			select {
			case <-ctx.Done():
				note("cancelled", arguments.Token)
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return textResult("done"), nil
			}
		case "log":
			for number := 1; number <= 2; number++ {
				_ = s.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: fmt.Sprintf("log-%d", number)})
			}
			return textResult("logged"), nil
		case "sample", "elicit", "roots":
			return sdkAsk(ctx, request, name, arguments.Text)
		case "touch":
			return textResult("touched"), server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watched})
		case "grow":
			server.AddTool(&mcp.Tool{Name: "extra", InputSchema: json.RawMessage(`{"type":"object"}`)}, sdkTool(server, "extra"))
			return textResult("grown"), nil
		}
		return textResult(name), nil
	}
}

// sdkAsk sends a request in the legacy era, and returns an input-required result in the modern one.
func sdkAsk(ctx context.Context, request *mcp.CallToolRequest, name, text string) (*mcp.CallToolResult, error) {
	messages := []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}
	sampling := &mcp.CreateMessageParams{MaxTokens: 10, Messages: messages}
	form := &mcp.ElicitParams{Message: text, RequestedSchema: answerSchema}
	if _, isModern := request.Params.Meta[mcp.MetaKeyProtocolVersion]; isModern {
		if answer, isAnswered := request.Params.InputResponses[question1]; isAnswered {
			return sdkAnswered(answer)
		}
		ask := map[string]mcp.InputRequest{"sample": sampling, "elicit": form, "roots": &mcp.ListRootsParams{}}[name]
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{question1: ask}}, nil
	}
	var answer mcp.InputResponse
	var err error
	switch name {
	case "sample":
		answer, err = request.Session.CreateMessage(ctx, sampling)
	case "elicit":
		answer, err = request.Session.Elicit(ctx, form)
	default:
		answer, err = request.Session.ListRoots(ctx, nil)
	}
	if err != nil {
		return nil, err
	}
	return sdkAnswered(answer)
}

func sdkAnswered(answer mcp.InputResponse) (*mcp.CallToolResult, error) {
	switch got := answer.(type) {
	case *mcp.CreateMessageResult:
		text, _ := got.Content.(*mcp.TextContent)
		return textResult("sampled: " + text.Text), nil
	case *mcp.CreateMessageWithToolsResult:
		text, _ := got.Content[0].(*mcp.TextContent)
		return textResult("sampled: " + text.Text), nil
	case *mcp.ElicitResult:
		return textResult(fmt.Sprintf("elicited: %s %v", got.Action, got.Content["answer"])), nil
	case *mcp.ListRootsResult:
		uris := mapped(got.Roots, func(one *mcp.Root) string { return one.URI })
		return textResult("roots: " + strings.Join(uris, ",")), nil
	}
	return nil, fmt.Errorf("unexpected answer %T", answer)
}
