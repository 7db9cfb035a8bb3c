package attach

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeport"
)

// doubt notes why the API server may not be the one that knows the kubelet's pods: it has no node of that name, or
// nothing shows that it is of the kubelet's cluster. Then the probe may show nothing, or the pods of another node.
func (p *reporter) doubt() {
	t := p.target
	if config := t.reports.api; t.guessed && !kubeport.KnowsCluster(&t.Kubelet, config) {
		p.host.Note(fmt.Sprintf("podstep does not know whether the API server at %s is of the kubelet's cluster: the kubelet's own kubeconfig cannot be read, or names no authority. Name another with --kubeconfig if the pods are not this node's", config.Host), nil)
	}
	if noNode(p.host.Context(), t.reports.api, t.Kubelet.Node, askNodeAgain) {
		p.host.Note(fmt.Sprintf("the API server has no node %s, so the api probe shows nothing of this kubelet's pods: name the node with podstep attach --node", t.Kubelet.Node), nil)
	}
}

const (
	// askNodeWithin bounds the wait for the node's object. askNodeAgain is the wait before an API server is asked again
	// that has not answered, or has no such node: a young kubelet is about to make it.
	askNodeWithin, askNodeAgain = 10 * time.Second, 30 * time.Second
	// maxNode bounds a node's object, in bytes.
	maxNode = 4 << 20
)

// noNode reports whether the API server answers twice in a row that it has no node of that name. It asks until there is
// an answer, or ctx ends, and waits for the time again before it asks once more.
func noNode(ctx context.Context, config *rest.Config, node string, again time.Duration) bool {
	config = rest.CopyConfig(config)
	config.UserAgent = kubeapi.UserAgent("attach/" + node)
	api, err := kubeapi.New(config)
	if err != nil {
		return false
	}
	for missing := false; ; {
		one, cancel := context.WithTimeout(ctx, askNodeWithin)
		var object struct{}
		err := api.Call(one, kubeapi.Request{Path: "/api/v1/nodes/" + url.PathEscape(node)}, maxNode, &object)
		cancel()
		if err == nil || kubeapi.IsCode(err, http.StatusForbidden, http.StatusUnauthorized) {
			return false
		}
		before := missing
		if missing = kubeapi.IsCode(err, http.StatusNotFound); missing && before {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}
