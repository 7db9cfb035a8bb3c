package far

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/kubeapi"
)

// exec runs a command in an agent's pod until the command ends: over a WebSocket or, where the API server or a proxy
// before it knows none, over SPDY, as kubectl does.
func (c *Cluster) exec(ctx context.Context, a *Agent, command []string, s streams) error {
	target, config, err := c.execTarget(a, command)
	if err != nil {
		return err
	}
	ws, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, target.String())
	if err != nil {
		return err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, target)
	if err != nil {
		return err
	}
	e, err := remotecommand.NewFallbackExecutor(ws, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return err
	}
	// client-go logs some failures besides returning them. The screen has the terminal.
	ctx = klog.NewContext(ctx, logr.Discard())
	err = e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: s.in, Stdout: s.out, Stderr: s.errors})
	return c.explain(ctx, err, roleIn(a.Namespace, agentpb.AccountLook))
}

// execTarget returns the address of an exec, and how to get there.
func (c *Cluster) execTarget(a *Agent, command []string) (*url.URL, *rest.Config, error) {
	config := rest.CopyConfig(c.config)
	config.Timeout = 0
	if config.UserAgent == "" {
		config.UserAgent = kubeapi.UserAgent("")
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, nil, err
	}
	target := base.JoinPath("api/v1/namespaces", a.Namespace, "pods", a.Name, "exec")
	target.RawQuery = url.Values{"container": {container}, "command": command, "stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"}}.Encode()
	return target, config, nil
}

// line returns the text of a program as one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }
