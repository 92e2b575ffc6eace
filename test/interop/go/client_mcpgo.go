package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGoSession is a client of mark3labs/mcp-go.
type mcpGoSession struct {
	*client.Client
	prefix   string
	progress *sync.Map
}

// answers responds to server requests as the user and the model of the client.
type answers struct{}

func (answers) CreateMessage(_ context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	message := request.Messages[0]
	asked, isText := message.Content.(mcp.TextContent)
	text := asked.Text
	if content, isMap := message.Content.(map[string]any); !isText && isMap {
		text, _ = content["text"].(string)
	}
	answer := mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent(answerText(text))}
	return &mcp.CreateMessageResult{SamplingMessage: answer, Model: "m"}, nil
}

func (answers) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	content := map[string]any{"answer": answerText(request.Params.Message)}
	response := mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: content}
	return &mcp.ElicitationResult{ElicitationResponse: response}, nil
}

func (answers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: root}}}, nil
}

func connectMCPGo(ctx context.Context, o options, h *heard) (session, error) {
	carrier, err := mcpGoTransport(o)
	if err != nil {
		return nil, err
	}
	progress := &sync.Map{}
	handlers := []client.ClientOption{
		client.WithSamplingHandler(answers{}), client.WithElicitationHandler(answers{}), client.WithRootsHandler(answers{}),
	}
	if o.mode == "legacy" {
		handlers = append(handlers, client.WithLegacyProtocolOnly())
	}
	c := client.NewClient(carrier, handlers...)
	c.OnNotification(func(notification mcp.JSONRPCNotification) {
		fields := notification.Params.AdditionalFields
		switch notification.Method {
		case "notifications/message":
			h.addLog(fields["data"])
		case "notifications/resources/updated":
			h.add(&h.updated, fmt.Sprint(fields["uri"]))
		case "notifications/tools/list_changed":
			h.add(&h.changed, "tools")
		case "notifications/progress":
			if on, isWanted := progress.Load(fmt.Sprint(fields["progressToken"])); isWanted {
				value, _ := fields["progress"].(float64)
				on.(func(float64))(value)
			}
		}
	})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "interop", Version: "1"}
	if _, err := c.Initialize(ctx, request); err != nil {
		return nil, err
	}
	return &mcpGoSession{c, o.prefix, progress}, nil
}

func mcpGoTransport(o options) (transport.Interface, error) {
	headers := map[string]string{}
	if o.token != "" {
		headers["Authorization"] = "Bearer " + o.token
	}
	switch o.transport {
	case "stdio":
		command := o.command()
		return transport.NewStdio(command[0], os.Environ(), command[1:]...), nil
	case "sse":
		return transport.NewSSE(o.url, transport.WithHeaders(headers))
	default:
		return transport.NewStreamableHTTP(o.url, transport.WithHTTPHeaders(headers), transport.WithContinuousListening())
	}
}

func (s *mcpGoSession) revision() string { return s.ProtocolVersion() }

func (s *mcpGoSession) isModern() bool { return s.revision() >= "2026" }

func (s *mcpGoSession) tools(ctx context.Context) ([]string, error) {
	listed, err := s.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	return mapped(listed.Tools, func(one mcp.Tool) string { return one.Name }), nil
}

func (s *mcpGoSession) prompts(ctx context.Context) ([]string, error) {
	listed, err := s.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return nil, err
	}
	return mapped(listed.Prompts, func(one mcp.Prompt) string { return one.Name }), nil
}

func (s *mcpGoSession) resources(ctx context.Context) ([]string, error) {
	listed, err := s.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return nil, err
	}
	return mapped(listed.Resources, func(one mcp.Resource) string { return one.URI }), nil
}

func (s *mcpGoSession) templates(ctx context.Context) ([]string, error) {
	listed, err := s.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil {
		return nil, err
	}
	return mapped(listed.ResourceTemplates, func(one mcp.ResourceTemplate) string { return one.URITemplate.Raw() }), nil
}

func (s *mcpGoSession) call(ctx context.Context, name string, arguments map[string]any, onProgress func(float64)) (result, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = s.prefix + name
	request.Params.Arguments = arguments // a nil map is `null` on the wire
	meta := &mcp.Meta{}
	if onProgress != nil {
		s.progress.Store("interop", onProgress)
		meta.ProgressToken = "interop"
	}
	if s.isModern() {
		meta.SetLogLevel(mcp.LoggingLevelDebug)
	}
	if onProgress != nil || s.isModern() {
		request.Params.Meta = meta
	}
	called, err := s.CallTool(ctx, request)
	if err != nil {
		return result{}, err
	}
	got := result{structured: called.StructuredContent, isError: called.IsError}
	for _, block := range called.Content {
		switch content := block.(type) {
		case mcp.TextContent:
			got.text += content.Text
		case mcp.ImageContent:
			got.kind, got.data = "image", content.Data
		}
	}
	return got, nil
}

func (s *mcpGoSession) prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	request := mcp.GetPromptRequest{}
	request.Params.Name, request.Params.Arguments = s.prefix+name, arguments
	rendered, err := s.GetPrompt(ctx, request)
	if err != nil {
		return "", err
	}
	text, _ := rendered.Messages[0].Content.(mcp.TextContent)
	return text.Text, nil
}

func (s *mcpGoSession) read(ctx context.Context, uri string) (string, error) {
	request := mcp.ReadResourceRequest{}
	request.Params.URI = uri
	read, err := s.ReadResource(ctx, request)
	if err != nil {
		return "", err
	}
	text, _ := read.Contents[0].(mcp.TextResourceContents)
	return text.Text, nil
}

func (s *mcpGoSession) complete(ctx context.Context, prompt, argument, value string) ([]string, error) {
	request := mcp.CompleteRequest{}
	request.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: s.prefix + prompt}
	request.Params.Argument = mcp.CompleteArgument{Name: argument, Value: value}
	completed, err := s.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	return completed.Completion.Values, nil
}

func (s *mcpGoSession) setLevel(ctx context.Context) error {
	if s.isModern() {
		return nil // each request carries the level
	}
	request := mcp.SetLevelRequest{}
	request.Params.Level = mcp.LoggingLevelDebug
	return s.SetLevel(ctx, request)
}

func (s *mcpGoSession) subscribe(ctx context.Context, uri string) error {
	if s.isModern() {
		return s.listen(mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
	}
	request := mcp.SubscribeRequest{}
	request.Params.URI = uri
	return s.Subscribe(ctx, request)
}

func (s *mcpGoSession) watchLists(context.Context) error {
	if s.isModern() {
		return s.listen(mcp.SubscriptionFilter{ToolsListChanged: true})
	}
	return nil
}

// listen returns once the stream is open, which this SDK does not report.
func (s *mcpGoSession) listen(filter mcp.SubscriptionFilter) error {
	_, err := s.ListenAsync(context.Background(), filter, nil)
	pause()
	return err
}
