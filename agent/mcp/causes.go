package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/agent/explain/causes"
)

// causeURI is the beginning of the address of a cause's page. Its id follows.
const causeURI = "podstep://causes/"

// addCauses adds the pages of the causes. They are listed as one template: a list of hundreds would fill an assistant's
// memory, and the findings have the ids.
func addCauses(to *sdk.Server) {
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "cause", Title: "Page of a cause", URITemplate: causeURI + "{id}", MIMEType: "text/markdown",
		Description: "What a cause is, by the id of a finding: what waits for what, the timer, what kubectl shows, what would refute it, what to do.",
	}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c := causeOf(r.Params.URI)
		if c == nil {
			return nil, errNoCause
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/markdown", Text: c.Page()}}}, nil
	})
	to.AddReceivingMiddleware(onlyCauses)
}

// causeOf returns the cause of an address, or nil.
func causeOf(uri string) *causes.Cause {
	id, ok := strings.CutPrefix(uri, causeURI)
	if !ok {
		return nil
	}
	return causes.Named(id)
}

// errNoCause is the answer to an address of nothing. It does not repeat the address.
var errNoCause = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is nothing at this address: " + causeURI + "ID has the page of a cause, by the id of a finding such as image.notFound"}

// onlyCauses answers for addresses of nothing. go-sdk v1.8.0 would repeat them in an error, and end the connection if one
// has a character that Go quotes otherwise than JSON.
func onlyCauses(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if read, is := r.GetParams().(*sdk.ReadResourceParams); is && (read == nil || causeOf(read.URI) == nil) {
			return nil, errNoCause
		}
		return next(ctx, method, r)
	}
}
