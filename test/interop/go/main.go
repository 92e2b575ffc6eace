// Clients and servers of the two Go SDKs: `interop client go-sdk …`, `interop server mcp-go …`.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// options are the arguments that the harness passes to one run.
type options struct {
	url, transport, mode, prefix, token, ledger, only string
	port                                              int
	isStateless                                       bool
}

func readOptions(args []string) options {
	var o options
	flags := flag.NewFlagSet("interop", flag.ExitOnError)
	flags.StringVar(&o.url, "url", "", "of the server; over stdio the command as a JSON array")
	flags.StringVar(&o.transport, "transport", "http", "http, sse or stdio")
	flags.StringVar(&o.mode, "mode", "auto", "auto or legacy")
	flags.StringVar(&o.prefix, "prefix", "", "of the names of tools and prompts")
	flags.StringVar(&o.token, "token", "", "of an MCP client")
	flags.StringVar(&o.ledger, "ledger", "", "the file that the server writes")
	flags.StringVar(&o.only, "only", "", "features, separated by commas")
	flags.IntVar(&o.port, "port", 0, "of a server")
	flags.BoolVar(&o.isStateless, "stateless", false, "a server without sessions")
	_ = flags.Parse(args)
	return o
}

// command is the command line of the stdio server.
func (o options) command() []string {
	var parts []string
	if err := json.Unmarshal([]byte(o.url), &parts); err != nil {
		panic(err)
	}
	return parts
}

func (o options) address() string { return fmt.Sprintf("127.0.0.1:%d", o.port) }

func main() {
	o := readOptions(os.Args[3:])
	switch os.Args[1] + " " + os.Args[2] {
	case "client go-sdk":
		tryFeatures(o, connectSDK)
	case "client mcp-go":
		tryFeatures(o, connectMCPGo)
	case "server go-sdk":
		serveSDK(o)
	case "server mcp-go":
		serveMCPGo(o)
	default:
		panic("client or server, go-sdk or mcp-go")
	}
}
