package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/dap"
	"github.com/podstep/podstep/agent/trace"
)

func (a *app) dap() *cobra.Command {
	var listen string
	var from whyFrom
	cmd := &cobra.Command{
		Use:   "dap [--listen unix:PATH]",
		Short: "Serve an editor that debugs one pod",
		Long: `Speaks the Debug Adapter Protocol, so that an editor debugs single pods of a
kubelet that lives on: VS Code, nvim-dap, Zed, GoLand. docs/dap.md says how each is
set up. An editor starts podstep dap itself, and speaks over standard input and
output; with --listen it connects to a socket, which only you and root may use.

A thread is a pod. Breakpoints are steps such as cri.RunPodSandbox, or lines of the
kubelet, whose source podstep brings along. Continue and step move one pod only. When
the editor ends, however it does, its pods go on and its breakpoints are gone.

The editor's configuration names the pod: attach with "pod", or launch with "lab" for a
node of the editor's own, or with "trace" to replay a recording, where stepping back works.`,
		Example: `  podstep dap
  podstep dap --listen unix:/run/user/1000/podstep-dap.sock`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.useOne(cmd.Context()); err != nil {
				return err
			}
			o, err := a.dapOptions(&from)
			if err != nil {
				return err
			}
			var labs dapLabs
			defer labs.running.Wait()
			o.Lab = labs.start
			if listen == "" {
				return serveEditor(cmd.Context(), standard{os.Stdin, a.out}, o)
			}
			path, ok := strings.CutPrefix(listen, "unix:")
			if !ok || path == "" {
				return usagef("--listen %q: write it like unix:PATH", listen)
			}
			return a.listenForEditors(cmd.Context(), path, o)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "wait for editors at the socket `unix:PATH`, and not on standard input")
	from.add(cmd)
	return cmd
}

// dapOptions returns what the sessions of editors work with.
func (a *app) dapOptions(from *whyFrom) (dap.Options, error) {
	place, err := a.place()
	if err != nil {
		return dap.Options{}, err
	}
	return dap.Options{
		Place: place,
		Open: func(ctx context.Context, names ...string) (trace.Recording, error) {
			r, err := a.openLogs(ctx, &logFlags{}, names...)
			if err != nil {
				return nil, openError(err)
			}
			return r, nil
		},
		Why: func(ctx context.Context, at client.Place, namespace, name string) (string, error) {
			var out bytes.Buffer
			one := &app{name: a.name, out: &out, err: io.Discard, where: a.where.with(at)}
			f := &whyFlags{from: *from}
			f.name.namespace = namespace
			if err := one.explain(ctx, f, name); err != nil && !errors.Is(err, errWrong) {
				return "", err
			}
			return out.String(), nil
		},
	}, nil
}

// standard is standard input and output as one connection.
type standard struct {
	io.Reader
	io.Writer
}

// Close has nothing to close: the process ends.
func (standard) Close() error { return nil }

// serveEditor serves one editor. An editor that was killed is no error: its pods go on.
func serveEditor(ctx context.Context, rw io.ReadWriteCloser, o dap.Options) error {
	err := dap.Serve(ctx, rw, o)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// listenForEditors serves editors at a socket, several at a time, until ctx ends.
func (a *app) listenForEditors(ctx context.Context, path string, o dap.Options) error {
	l, err := dap.Listen(path)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	a.printf("editors can connect to %s; Ctrl-C ends all of their sessions", path)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for editors at %s: %w", path, err)
		}
		sessions.Go(func() {
			if err := serveEditor(ctx, c, o); err != nil && ctx.Err() == nil {
				a.printf("a session ended: %s", err)
			}
		})
	}
}
