package kubeapi

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// pageSize is how many objects are asked for at once.
	pageSize = 500
	// pageWithin bounds the time that one page may take.
	pageWithin = time.Minute
	// maxPage bounds what the API server may send for one page, in bytes.
	maxPage = 256 << 20
)

// List gives all objects of a kind, page by page, and the version of the list. Errors
// are those of Call; the objects of the pages before were given then.
func List[T any](ctx context.Context, c *Client, path string, query url.Values, each func(*T)) (version string, err error) {
	q := maps.Clone(query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", strconv.Itoa(pageSize))
	for {
		page, err := listPage[T](ctx, c, path, q)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if page.Metadata.Continue == "" {
			return page.Metadata.ResourceVersion, nil
		}
		q.Set("continue", page.Metadata.Continue)
	}
}

type page[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}

func listPage[T any](ctx context.Context, c *Client, path string, query url.Values) (*page[T], error) {
	ctx, cancel := context.WithTimeout(ctx, pageWithin)
	defer cancel()
	var p page[T]
	if err := c.Call(ctx, Request{Path: path, Query: query}, maxPage, &p); err != nil {
		return nil, err
	}
	return &p, nil
}
