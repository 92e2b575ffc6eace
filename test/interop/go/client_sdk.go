package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkSession is a client of the official Go SDK.
type sdkSession struct {
	*mcp.ClientSession
	prefix   string
	progress *sync.Map
}

// withToken adds the token of an MCP client to each request.
type withToken struct{ token string }

func (w withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	if w.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+w.token)
	}
	return http.DefaultTransport.RoundTrip(request)
}

func connectSDK(ctx context.Context, o options, h *heard) (session, error) {
	progress := &sync.Map{}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, request *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			asked, _ := request.Params.Messages[0].Content.(*mcp.TextContent)
			content := &mcp.TextContent{Text: answerText(asked.Text)}
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: content}, nil
		},
		ElicitationHandler: func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{"answer": answerText(request.Params.Message)}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { h.add(&h.changed, "tools") },
		ResourceUpdatedHandler: func(_ context.Context, request *mcp.ResourceUpdatedNotificationRequest) {
			h.add(&h.updated, request.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, request *mcp.LoggingMessageRequest) {
			h.addLog(request.Params.Data)
		},
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			if on, isWanted := progress.Load(fmt.Sprint(request.Params.ProgressToken)); isWanted {
				on.(func(float64))(request.Params.Progress)
			}
		},
	})
	client.AddRoots(&mcp.Root{URI: root})
	revision := ""
	if o.mode == "legacy" {
		revision = "2025-11-25"
	}
	s, err := client.Connect(ctx, sdkTransport(o), &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	return &sdkSession{s, o.prefix, progress}, nil
}

func sdkTransport(o options) mcp.Transport {
	client := &http.Client{Transport: withToken{o.token}}
	switch o.transport {
	case "stdio":
		command := o.command()
		return &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}
	case "sse":
		return &mcp.SSEClientTransport{Endpoint: o.url, HTTPClient: client}
	default:
		return &mcp.StreamableClientTransport{Endpoint: o.url, HTTPClient: client}
	}
}

func (s *sdkSession) revision() string { return s.InitializeResult().ProtocolVersion }

func (s *sdkSession) tools(ctx context.Context) ([]string, error) {
	names := []string{}
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *sdkSession) prompts(ctx context.Context) ([]string, error) {
	listed, err := s.ListPrompts(ctx, nil)
	if err != nil {
		return nil, err
	}
	return mapped(listed.Prompts, func(one *mcp.Prompt) string { return one.Name }), nil
}

func (s *sdkSession) resources(ctx context.Context) ([]string, error) {
	listed, err := s.ListResources(ctx, nil)
	if err != nil {
		return nil, err
	}
	return mapped(listed.Resources, func(one *mcp.Resource) string { return one.URI }), nil
}

func (s *sdkSession) templates(ctx context.Context) ([]string, error) {
	listed, err := s.ListResourceTemplates(ctx, nil)
	if err != nil {
		return nil, err
	}
	return mapped(listed.ResourceTemplates, func(one *mcp.ResourceTemplate) string { return one.URITemplate }), nil
}

func (s *sdkSession) call(ctx context.Context, name string, arguments map[string]any, onProgress func(float64)) (result, error) {
	params := &mcp.CallToolParams{Name: s.prefix + name, Meta: mcp.Meta{mcp.MetaKeyLogLevel: "debug"}}
	if arguments != nil {
		params.Arguments = arguments
	}
	if onProgress != nil {
		s.progress.Store("interop", onProgress)
		params.SetProgressToken("interop")
	}
	called, err := s.CallTool(ctx, params)
	if err != nil {
		return result{}, err
	}
	got := result{structured: called.StructuredContent, isError: called.IsError}
	for _, block := range called.Content {
		switch content := block.(type) {
		case *mcp.TextContent:
			got.text += content.Text
		case *mcp.ImageContent:
			got.kind, got.data = "image", base64.StdEncoding.EncodeToString(content.Data)
		}
	}
	return got, nil
}

func (s *sdkSession) prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	rendered, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: s.prefix + name, Arguments: arguments})
	if err != nil {
		return "", err
	}
	return rendered.Messages[0].Content.(*mcp.TextContent).Text, nil
}

func (s *sdkSession) read(ctx context.Context, uri string) (string, error) {
	read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return read.Contents[0].Text, nil
}

func (s *sdkSession) complete(ctx context.Context, prompt, argument, value string) ([]string, error) {
	completed, err := s.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: s.prefix + prompt},
		Argument: mcp.CompleteParamsArgument{Name: argument, Value: value},
	})
	if err != nil {
		return nil, err
	}
	return completed.Completion.Values, nil
}

func (s *sdkSession) setLevel(ctx context.Context) error {
	if s.revision() >= "2026" {
		return nil // each request carries the level
	}
	return s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"})
}

func (s *sdkSession) subscribe(ctx context.Context, uri string) error {
	return s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

// watchLists has nothing to do: this SDK listens from the start.
func (s *sdkSession) watchLists(context.Context) error { return nil }
