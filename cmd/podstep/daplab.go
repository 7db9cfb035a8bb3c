package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/dap"
	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/cmd/podstep/node"
)

// dapLabs starts the labs of editors, each in a directory of its own that goes with it.
type dapLabs struct{ running sync.WaitGroup }

// dapLab is the lab of one session.
type dapLab struct {
	dir   string
	place client.Place
	close context.CancelFunc
}

func (l *dapLab) Place() client.Place { return l.place }
func (l *dapLab) Close()              { l.close() }

// Create makes the objects of a manifest, or a pod of a name that only waits.
func (l *dapLab) Create(ctx context.Context, manifest, namespace, name string) (string, error) {
	if manifest != "" {
		return node.Kubectl(ctx, l.dir, "apply", "-f", manifest)
	}
	in := []string{"--namespace", cmp.Or(namespace, metav1.NamespaceDefault)}
	if in[1] != metav1.NamespaceDefault {
		if _, err := node.Kubectl(ctx, l.dir, "create", "namespace", namespace); err != nil {
			return "", err
		}
	}
	return node.Kubectl(ctx, l.dir, append([]string{"run", name, "--image", labstate.Image, "--restart", "Never"}, append(in, "--", "sleep", "86400")...)...)
}

// start starts a lab, and returns when it is ready.
func (d *dapLabs) start(ctx context.Context, report func(string)) (dap.Lab, error) {
	dir, err := os.MkdirTemp("", "podstep-dap-")
	if err != nil {
		return nil, fmt.Errorf("make the lab's directory: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &dapLab{dir: filepath.Join(dir, "lab"), close: cancel}
	ready, over := make(chan error, 1), make(chan error, 1)
	d.running.Go(func() {
		defer os.RemoveAll(dir)
		over <- node.RunLab(ctx, []string{"--dir", l.dir}, lineWriter(report), func(ended <-chan struct{}) error {
			agents, err := labAgents(l.dir)
			if err == nil && len(agents) == 0 {
				err = fmt.Errorf("the lab has no agent")
			}
			if err == nil {
				l.place = agents[0].Place
			}
			if ready <- err; err != nil {
				return nil
			}
			select {
			case <-ctx.Done():
			case <-ended:
			}
			return nil
		})
	})
	select {
	case err = <-ready:
	case err = <-over:
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return l, nil
}

// lineWriter passes on each line that is written to it.
type lineWriter func(line string)

func (w lineWriter) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		w(string(bytes.TrimRight(line, "\n")))
	}
	return len(b), nil
}

var _ dap.Lab = (*dapLab)(nil)
