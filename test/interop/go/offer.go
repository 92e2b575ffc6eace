package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"strings"
)

// offerText is a copy of ../offer.json made by the build.
//
//go:embed offer.json
var offerText []byte

// offer holds the items of every server.
var offer struct {
	Tools []struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	} `json:"tools"`
	Prompts []struct {
		Name string `json:"name"`
	} `json:"prompts"`
	Resources []struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	} `json:"resources"`
	Templates []struct {
		URITemplate string `json:"uriTemplate"`
		Name        string `json:"name"`
	} `json:"templates"`
	Names []string `json:"names"`
	Image string   `json:"image"`
}

const (
	watched = "interop://watched"
	root    = "file:///interop"
)

var answerSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`)

func init() {
	if err := json.Unmarshal(offerText, &offer); err != nil {
		panic(err)
	}
}

// note writes to the log file, which the client reads too.
func note(word, token string) {
	file, err := os.OpenFile(os.Getenv("INTEROP_LEDGER"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	_, _ = file.WriteString(word + " " + token + "\n")
}

func resourceText(uri string) string {
	if id, isItem := strings.CutPrefix(uri, "interop://items/"); isItem {
		return "item " + id
	}
	return strings.TrimPrefix(uri, "interop://") + " text"
}

func completions(value string) []string {
	found := []string{}
	for _, name := range offer.Names {
		if strings.HasPrefix(name, value) {
			found = append(found, name)
		}
	}
	return found
}
