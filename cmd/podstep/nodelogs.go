package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/nodelog"
)

// fetchLogs returns how the logs of a node are fetched through the API server.
func (a *app) fetchLogs(ctx context.Context, o *logstory.Options) func(string, nodelog.Keep) error {
	since, until := o.Since, o.Until
	return func(node string, keep nodelog.Keep) error {
		rest, err := a.clientConfig().ClientConfig()
		if clientcmd.IsEmptyConfig(err) {
			return fmt.Errorf("there is no file node/%s, and no kubeconfig is known to ask the node %s: name one with --kubeconfig or KUBECONFIG", node, node)
		}
		if err != nil {
			return kubeconfigError(err)
		}
		api, err := kubeapi.New(kubeapi.ReadOnly(rest))
		if err != nil {
			return err
		}
		r := &nodelog.Remote{API: api, Node: node, Since: since, Until: until}
		if !isTerminal(a.err) {
			return r.Each(ctx, keep)
		}
		defer fmt.Fprint(a.err, "\r\x1b[K")
		return r.Each(ctx, func(f nodelog.File) (bool, error) {
			f.Text = &counted{text: f.Text, shown: a.err, of: fmt.Sprintf("%s of node %s", f.Name, node)}
			return keep(f)
		})
	}
}

// counted shows how much of a text was read.
type counted struct {
	text  io.Reader
	shown io.Writer
	of    string
	read  int64
	at    time.Time
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.text.Read(p)
	c.read += int64(n)
	if time.Since(c.at) > time.Second/4 {
		c.at = time.Now()
		fmt.Fprintf(c.shown, "\r\x1b[K%s: %.1f MB  Ctrl-C ends it ", c.of, float64(c.read)/1e6)
	}
	return n, err
}
