package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var errUnsupported = errors.New("unsupported")

// featureLimit is generous, since each of twenty calls may start a process.
const featureLimit = 2 * time.Minute

// result is the result of a call in the same form for both SDKs.
type result struct {
	text, kind, data string
	structured       any
	isError          bool
}

// session is a connected client; names are the server's own.
type session interface {
	revision() string
	tools(context.Context) ([]string, error)
	prompts(context.Context) ([]string, error)
	resources(context.Context) ([]string, error)
	templates(context.Context) ([]string, error)
	// call makes a call, with progress if onProgress is given; nil arguments are the SDK's own "none".
	call(ctx context.Context, name string, arguments map[string]any, onProgress func(float64)) (result, error)
	prompt(ctx context.Context, name string, arguments map[string]string) (string, error)
	read(ctx context.Context, uri string) (string, error)
	complete(ctx context.Context, prompt, argument, value string) ([]string, error)
	setLevel(context.Context) error
	subscribe(ctx context.Context, uri string) error
	watchLists(context.Context) error
}

// heard holds the notifications that a client received.
type heard struct {
	mutex                  sync.Mutex
	logs, updated, changed []string
}

func (h *heard) add(list *[]string, value string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	*list = append(*list, value)
}

// addLog adds the tool's own part of a log message; some servers wrap it in an object.
func (h *heard) addLog(data any) { h.add(&h.logs, logged.FindString(fmt.Sprint(data))) }

func (h *heard) has(list *[]string, from int, value string) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return len(*list) >= from && slices.Contains((*list)[from:], value)
}

var (
	label    = regexp.MustCompile(`^\[[^\]]+\] `)
	logged   = regexp.MustCompile(`log-\d`)
	question = regexp.MustCompile(`^ask-(\d+)$`)
)

// answerText answers a server request; answers to parallel calls take longer the later the request came.
func answerText(message string) string {
	asked := label.ReplaceAllString(message, "")
	if match := question.FindStringSubmatch(asked); match != nil {
		number, _ := strconv.Atoi(match[1])
		time.Sleep(time.Duration(number+1) * 300 * time.Millisecond)
	}
	return "answer to " + asked
}

func until(what string, condition func() bool) error {
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if condition() {
			return nil
		}
	}
	return fmt.Errorf("no %s within 15 s", what)
}

func expect(actual, expected any, what string) error {
	if a, e := fmt.Sprint(actual), fmt.Sprint(expected); a != e {
		return fmt.Errorf("%s: %q instead of %q", what, a, e)
	}
	return nil
}

func among(expected, actual []string, what string) error {
	for _, one := range expected {
		if !slices.Contains(actual, one) {
			return fmt.Errorf("%s: without %s", what, one)
		}
	}
	return nil
}

func mapped[T any](all []T, of func(T) string) []string {
	names := make([]string, 0, len(all))
	for _, one := range all {
		names = append(names, of(one))
	}
	return names
}

type feature struct {
	name string
	try  func(context.Context, options, session, *heard) error
}

func expectText(tool string, arguments map[string]any, expected string) func(context.Context, options, session, *heard) error {
	return func(ctx context.Context, _ options, s session, _ *heard) error {
		got, err := s.call(ctx, tool, arguments, nil)
		return errors.Join(err, expect(got.text, expected, "text"))
	}
}

func expectRead(uri, expected string) func(context.Context, options, session, *heard) error {
	return func(ctx context.Context, _ options, s session, _ *heard) error {
		text, err := s.read(ctx, uri)
		return errors.Join(err, expect(text, expected, "text"))
	}
}

var features = []feature{
	{"lists", tryLists},
	{"text", expectText("echo", map[string]any{"text": "Grüße, 世界 \u2028"}, "Grüße, 世界 \u2028")},
	{"image", func(ctx context.Context, _ options, s session, _ *heard) error {
		got, err := s.call(ctx, "image", map[string]any{}, nil)
		return errors.Join(err, expect(got.kind+" "+got.data, "image "+offer.Image, "image"))
	}},
	{"structured", func(ctx context.Context, _ options, s session, _ *heard) error {
		got, err := s.call(ctx, "structured", map[string]any{"a": 19, "b": 23}, nil)
		return errors.Join(err, expect(got.structured, map[string]any{"sum": 42}, "structured content"))
	}},
	{"error", func(ctx context.Context, _ options, s session, _ *heard) error {
		got, err := s.call(ctx, "fail", map[string]any{}, nil)
		return errors.Join(err, expect(got.isError && strings.Contains(got.text, "on purpose"), true, "error of the tool"))
	}},
	{"no-arguments", func(ctx context.Context, _ options, s session, _ *heard) error {
		got, err := s.call(ctx, "image", nil, nil)
		return errors.Join(err, expect(got.isError, false, "isError"))
	}},
	{"prompt", func(ctx context.Context, _ options, s session, _ *heard) error {
		text, err := s.prompt(ctx, "greet", map[string]string{"name": "Ada"})
		return errors.Join(err, expect(text, "Hello, Ada", "prompt"))
	}},
	{"read", expectRead("interop://static", "static text")},
	{"template", expectRead("interop://items/42", "item 42")},
	{"wildcard", func(ctx context.Context, o options, s session, h *heard) error {
		if templates, err := s.templates(ctx); err != nil || !slices.Contains(templates, "path://{p*}") {
			return errors.Join(err, errUnsupported)
		}
		return expectRead("path://a/b/c", "path a/b/c")(ctx, o, s, h)
	}},
	{"complete", func(ctx context.Context, _ options, s session, _ *heard) error {
		values, err := s.complete(ctx, "greet", "name", "A")
		return errors.Join(err, expect(values, offer.Names, "values"))
	}},
	{"progress", tryProgress},
	{"log", tryLog},
	{"cancel", tryCancel},
	{"sampling", expectText("sample", map[string]any{"text": "why"}, "sampled: answer to why")},
	{"elicitation", expectText("elicit", map[string]any{"text": "who"}, "elicited: accept answer to who")},
	{"roots", expectText("roots", map[string]any{}, "roots: "+root)},
	{"parallel", tryParallel},
	{"askers", tryAskers},
	{"subscribe", trySubscribe},
	{"list-changed", tryListChanged},
}

func tryLists(ctx context.Context, o options, s session, _ *heard) error {
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	prompts, err := s.prompts(ctx)
	if err != nil {
		return err
	}
	resources, err := s.resources(ctx)
	if err != nil {
		return err
	}
	templates, err := s.templates(ctx)
	if err != nil {
		return err
	}
	var wanted, wantedResources, wantedTemplates []string
	for _, tool := range offer.Tools {
		wanted = append(wanted, o.prefix+tool.Name)
	}
	for _, resource := range offer.Resources {
		wantedResources = append(wantedResources, resource.URI)
	}
	for _, template := range offer.Templates {
		wantedTemplates = append(wantedTemplates, template.URITemplate)
	}
	return errors.Join(
		among(wanted, tools, "tools"),
		among([]string{o.prefix + "greet"}, prompts, "prompts"),
		among(wantedResources, resources, "resources"),
		among(wantedTemplates, templates, "templates"),
	)
}

func tryProgress(ctx context.Context, _ options, s session, _ *heard) error {
	var mutex sync.Mutex
	seen := []float64{}
	copied := func() []float64 {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(seen)
	}
	_, err := s.call(ctx, "progress", map[string]any{}, func(value float64) {
		mutex.Lock()
		defer mutex.Unlock()
		seen = append(seen, value)
	})
	if err != nil {
		return err
	}
	_ = until("four steps", func() bool { return len(copied()) >= 4 })
	return expect(copied(), []float64{1, 2, 3, 4}, "progress")
}

func tryLog(ctx context.Context, _ options, s session, h *heard) error {
	if err := s.setLevel(ctx); err != nil {
		return err
	}
	if _, err := s.call(ctx, "log", map[string]any{}, nil); err != nil {
		return err
	}
	return until("two log messages", func() bool { return h.has(&h.logs, 0, "log-1") && h.has(&h.logs, 0, "log-2") })
}

func tryCancel(ctx context.Context, o options, s session, _ *heard) error {
	token := strconv.FormatInt(time.Now().UnixNano(), 36)
	wrote := func(word string) func() bool {
		return func() bool {
			text, _ := os.ReadFile(o.ledger)
			return strings.Contains(string(text), word+" "+token)
		}
	}
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _, _ = s.call(cancellable, "slow", map[string]any{"token": token}, nil) }()
	if err := until("start of the call", wrote("started")); err != nil {
		return err
	}
	cancel()
	return until("cancellation at the server", wrote("cancelled"))
}

func tryParallel(ctx context.Context, _ options, s session, _ *heard) error {
	right := each(20, func(number int) error {
		text := fmt.Sprintf("n%d", number)
		got, err := s.call(ctx, "echo", map[string]any{"text": text}, nil)
		return errors.Join(err, expect(got.text, text, "text"))
	})
	return right
}

func tryAskers(ctx context.Context, _ options, s session, _ *heard) error {
	for _, one := range [][2]string{{"sample", "sampled: "}, {"elicit", "elicited: accept "}} {
		err := each(5, func(number int) error {
			asked := fmt.Sprintf("ask-%d", number)
			got, err := s.call(ctx, one[0], map[string]any{"text": asked}, nil)
			return errors.Join(err, expect(got.text, one[1]+"answer to "+asked, "text"))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", one[0], err)
		}
	}
	return nil
}

// each runs all attempts at once and reports how many succeeded if some failed.
func each(count int, try func(int) error) error {
	failures := make([]error, count)
	var group sync.WaitGroup
	for number := range count {
		group.Go(func() { failures[number] = try(number) })
	}
	group.Wait()
	wrong := slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d right, else %w", count-len(wrong), count, wrong[0])
}

func trySubscribe(ctx context.Context, _ options, s session, h *heard) error {
	if err := s.subscribe(ctx, watched); err != nil {
		return err
	}
	if _, err := s.call(ctx, "touch", map[string]any{}, nil); err != nil {
		return err
	}
	return until("update of the resource", func() bool { return h.has(&h.updated, 0, watched) })
}

func tryListChanged(ctx context.Context, o options, s session, h *heard) error {
	if err := s.watchLists(ctx); err != nil {
		return err
	}
	h.mutex.Lock()
	before := len(h.changed)
	h.mutex.Unlock()
	if _, err := s.call(ctx, "grow", map[string]any{}, nil); err != nil {
		return err
	}
	if err := until("word of the changed list", func() bool { return h.has(&h.changed, before, "tools") }); err != nil {
		return err
	}
	return until("new tool in the list", func() bool {
		tools, err := s.tools(ctx)
		return err == nil && slices.Contains(tools, o.prefix+"extra")
	})
}

func say(name, outcome, note string) {
	if len(note) > 300 {
		note = note[:300]
	}
	line, _ := json.Marshal(map[string]string{"feature": name, "outcome": outcome, "note": note})
	fmt.Println(string(line))
}

// tryFeatures connects and prints one line of JSON per feature.
func tryFeatures(o options, connect func(context.Context, options, *heard) (session, error)) {
	h := &heard{}
	ctx := context.Background()
	s, err := connectInTime(func() (session, error) { return connect(ctx, o, h) })
	if err != nil {
		say("init", "failed", err.Error())
		return
	}
	say("init", "ok", s.revision())
	for _, one := range features {
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), one.name) {
			attempt(ctx, o, s, h, one)
		}
	}
}

// connectInTime fails if there is no session within the limit: the Go SDK waits for ever for the head of a server's own
// event stream, which the Java SDK sends with the first event.
func connectInTime(connect func() (session, error)) (session, error) {
	type outcome struct {
		s   session
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		s, err := connect()
		ended <- outcome{s, err}
	}()
	select {
	case one := <-ended:
		return one.s, one.err
	case <-time.After(featureLimit):
		return nil, errors.New("no session in time")
	}
}

func attempt(ctx context.Context, o options, s session, h *heard, one feature) {
	limited, cancel := context.WithTimeout(ctx, featureLimit)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- one.try(limited, o, s, h) }()
	var err error
	select {
	case err = <-ended:
	case <-time.After(featureLimit + time.Second):
		err = errors.New("no end in time")
	}
	switch {
	case err == nil:
		say(one.name, "ok", "")
	case errors.Is(err, errUnsupported):
		say(one.name, "unsupported", "")
	default:
		say(one.name, "failed", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// pause waits for an event that an SDK does not report.
func pause() { time.Sleep(time.Second) }
