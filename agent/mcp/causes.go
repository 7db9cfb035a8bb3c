package mcp

import (
	"context"
	"strings"

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
		c := causes.Named(strings.TrimPrefix(r.Params.URI, causeURI))
		if c == nil {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/markdown", Text: c.Page()}}}, nil
	})
}
