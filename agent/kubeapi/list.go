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

// List calls each with all objects of a kind, page by page, and returns the version of the list. Errors are those of
// Call; each was called with the objects of the pages before.
func List[T any](ctx context.Context, c *Client, path string, query url.Values, each func(*T)) (version string, err error) {
	q := cloned(query)
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

// ListCached calls each with all objects of a kind as the API server has them in its memory, and returns the version
// of the list. The list is no older than the version notOlder; "0" allows any, and "" asks for the newest, for which
// some servers read their storage. The request has no limit, since servers before Kubernetes 1.31 read their storage
// for most lists with one, so ListCached is for small lists. Errors are those of Call.
func ListCached[T any](ctx context.Context, c *Client, path string, query url.Values, notOlder string, each func(*T)) (version string, err error) {
	q := cloned(query)
	if notOlder != "" {
		q.Set("resourceVersion", notOlder)
	}
	page, err := listPage[T](ctx, c, path, q)
	if err != nil {
		return "", err
	}
	for i := range page.Items {
		each(&page.Items[i])
	}
	return page.Metadata.ResourceVersion, nil
}

// Count returns about how many objects of a kind there are, and the version of that answer. The API server reads only
// one object for it.
func Count(ctx context.Context, c *Client, path string) (n int64, version string, err error) {
	page, err := listPage[struct{}](ctx, c, path, url.Values{"limit": {"1"}})
	if err != nil {
		return 0, "", err
	}
	n = int64(len(page.Items))
	if left := page.Metadata.RemainingItemCount; left != nil {
		n += *left
	}
	return n, page.Metadata.ResourceVersion, nil
}

func cloned(query url.Values) url.Values {
	if query == nil {
		return url.Values{}
	}
	return maps.Clone(query)
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
