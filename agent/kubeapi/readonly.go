package kubeapi

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// ReadOnly returns a copy of config whose clients only read: they send GET and HEAD, and nothing that turns a request
// into a stream of its own, as exec, attach and port-forward do. They refuse all else before it is sent. This does not
// bound what a program does that the kubeconfig names for logging in.
func ReadOnly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &reads{next} })
	return config
}

// reads sends only requests that read.
type reads struct{ next http.RoundTripper }

func (r *reads) RoundTrip(req *http.Request) (*http.Response, error) {
	reading := (req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == "") && req.Header.Get("Upgrade") == ""
	if reading {
		return r.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // as a RoundTripper must
	}
	return nil, fmt.Errorf("podstep only reads here, and %s %s is not sent: it could change something", req.Method, req.URL.Path)
}

// WrappedRoundTripper lets client-go find the transport within.
func (r *reads) WrappedRoundTripper() http.RoundTripper { return r.next }
