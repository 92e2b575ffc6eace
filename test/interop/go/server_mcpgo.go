package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type promptCompletion struct{}

func (promptCompletion) CompletePromptArgument(
	_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext,
) (*mcp.Completion, error) {
	return &mcp.Completion{Values: completions(argument.Value)}, nil
}

// serveMCPGo serves with mark3labs/mcp-go, in both eras.
func serveMCPGo(o options) {
	s := server.NewMCPServer("interop-mcp-go", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithLogging(), server.WithElicitation(), server.WithRoots(), server.WithCompletions(),
		server.WithPromptCompletionProvider(promptCompletion{}))
	s.EnableSampling()
	for _, tool := range offer.Tools {
		definition := mcp.NewToolWithRawSchema(tool.Name, tool.Description, tool.InputSchema)
		definition.RawOutputSchema = tool.OutputSchema
		s.AddTool(definition, mcpGoTool(s, tool.Name))
	}
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name", mcp.RequiredArgument())), mcpGoPrompt)
	for _, resource := range offer.Resources {
		s.AddResource(mcp.NewResource(resource.URI, resource.Name, mcp.WithMIMEType("text/plain")), mcpGoResource)
	}
	for _, template := range offer.Templates {
		s.AddResourceTemplate(mcp.NewResourceTemplate(template.URITemplate, template.Name), mcpGoResource)
	}
	switch o.transport {
	case "stdio":
		_ = server.ServeStdio(s)
	case "sse":
		panic(server.NewSSEServer(s, server.WithBaseURL("http://"+o.address())).Start(o.address()))
	default:
		panic(server.NewStreamableHTTPServer(s, server.WithStateLess(o.isStateless)).Start(o.address()))
	}
}

func mcpGoPrompt(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	content := mcp.NewTextContent("Hello, " + request.Params.Arguments["name"])
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, content)}), nil
}

func mcpGoResource(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri := request.Params.URI
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: resourceText(uri)}}, nil
}

func mcpGoTool(s *server.MCPServer, name string) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch name {
		case "echo":
			return mcp.NewToolResultText(request.GetString("text", "")), nil
		case "image":
			image := mcp.NewImageContent(offer.Image, "image/png")
			return &mcp.CallToolResult{Content: []mcp.Content{image}}, nil
		case "structured":
			sum := request.GetFloat("a", 0) + request.GetFloat("b", 0)
			return mcp.NewToolResultStructured(map[string]any{"sum": sum}, fmt.Sprint(sum)), nil
		case "fail":
			return mcp.NewToolResultError("failed on purpose"), nil
		case "progress":
			for step := 1; step <= 4 && request.Params.Meta != nil && request.Params.Meta.ProgressToken != nil; step++ {
				fields := map[string]any{"progressToken": request.Params.Meta.ProgressToken, "progress": step, "total": 4}
				_ = s.SendNotificationToClient(ctx, "notifications/progress", fields)
				time.Sleep(stepTime)
			}
			return mcp.NewToolResultText("done"), nil
		case "slow":
			note("started", request.GetString("token", ""))
			select {
			case <-ctx.Done():
				note("cancelled", request.GetString("token", ""))
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return mcp.NewToolResultText("done"), nil
			}
		case "log":
			for number := 1; number <= 2; number++ {
				message := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "interop", fmt.Sprintf("log-%d", number))
				_ = s.SendLogMessageToClient(ctx, message)
			}
			return mcp.NewToolResultText("logged"), nil
		case "sample", "elicit", "roots":
			return mcpGoAsk(ctx, s, request, name)
		case "touch":
			s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": watched})
			return mcp.NewToolResultText("touched"), nil
		case "grow":
			s.AddTool(mcp.NewTool("extra"), mcpGoTool(s, "extra"))
			return mcp.NewToolResultText("grown"), nil
		}
		return mcp.NewToolResultText(name), nil
	}
}

// mcpGoAsk sends a request in the legacy era, and returns an input-required result in the modern one.
func mcpGoAsk(ctx context.Context, s *server.MCPServer, request mcp.CallToolRequest, name string) (*mcp.CallToolResult, error) {
	text := request.GetString("text", "")
	message := mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}
	sampling := mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{message}}
	form := mcp.ElicitationParams{Message: text, RequestedSchema: answerSchema}
	if !server.IsModernRequest(ctx) {
		switch name {
		case "sample":
			answer, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: sampling})
			return mcpGoAnswered(answer, nil, nil, err)
		case "elicit":
			answer, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: form})
			return mcpGoAnswered(nil, answer, nil, err)
		}
		answer, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		return mcpGoAnswered(nil, nil, answer, err)
	}
	responses := request.Params.InputResponses
	if _, isAnswered := server.InputResponse(responses, question1); isAnswered {
		switch name {
		case "sample":
			return mcpGoAnswered(server.SamplingResponse(responses, question1), nil, nil, nil)
		case "elicit":
			return mcpGoAnswered(nil, server.ElicitationResponse(responses, question1), nil, nil)
		}
		return mcpGoAnswered(nil, nil, server.RootsResponse(responses, question1), nil)
	}
	ask := server.NewInputRequestBuilder("")
	switch name {
	case "sample":
		ask.Sample(question1, sampling)
	case "elicit":
		ask.Elicit(question1, form)
	default:
		ask.Roots(question1)
	}
	return ask.ToolResult(), nil
}

func mcpGoAnswered(
	sampled *mcp.CreateMessageResult, elicited *mcp.ElicitationResult, roots *mcp.ListRootsResult, err error,
) (*mcp.CallToolResult, error) {
	switch {
	case err != nil:
		return nil, err
	case sampled != nil:
		return mcp.NewToolResultText("sampled: " + mcp.GetTextFromContent(sampled.Content)), nil
	case elicited != nil:
		content, _ := elicited.Content.(map[string]any)
		return mcp.NewToolResultText(fmt.Sprintf("elicited: %s %v", elicited.Action, content["answer"])), nil
	case roots != nil:
		uris := mapped(roots.Roots, func(one mcp.Root) string { return one.URI })
		return mcp.NewToolResultText("roots: " + strings.Join(uris, ",")), nil
	}
	return nil, fmt.Errorf("no answer")
}
