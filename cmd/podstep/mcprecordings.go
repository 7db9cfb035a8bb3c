package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/mcp"
	"github.com/podstep/podstep/agent/trace"
)

// recording is a file from which questions are answered. An assistant knows its name, and not where it is.
type recording struct {
	name, path string
	logs       logFlags
}

// newOncall makes what answers an assistant. It opens each recording once, to fail now and not at a question.
func (a *app) newOncall(ctx context.Context, f *mcpFlags) (*oncall, error) {
	o := &oncall{app: a, from: f.from, live: len(f.files) == 0 || a.named() || a.kubeconfig != "" || a.context != ""}
	for _, path := range f.files {
		r := recording{name: o.unused(filepath.Base(path)), path: path}
		open, err := r.open(ctx, a)
		if err != nil {
			return nil, err
		}
		open.Close()
		o.recordings = append(o.recordings, r)
	}
	return o, nil
}

// unused returns a name for a recording that no other has.
func (o *oncall) unused(name string) string {
	for n := 2; ; n++ {
		taken := false
		for _, r := range o.recordings {
			taken = taken || r.name == name
		}
		if !taken {
			return name
		}
		name = fmt.Sprintf("%s (%d)", strings.TrimSuffix(name, fmt.Sprintf(" (%d)", n-1)), n)
	}
}

// names returns the names of the recordings.
func (o *oncall) names() (out []string) {
	for i := range o.recordings {
		out = append(out, o.recordings[i].name)
	}
	return out
}

// recording returns the recording that a question means; nil: agent and cluster are asked.
func (o *oncall) recording(name string) (*recording, error) {
	if name == "" && o.live {
		return nil, nil
	}
	for i := range o.recordings {
		if r := &o.recordings[i]; name == "" || name == r.name {
			return r, nil
		}
	}
	if len(o.recordings) == 0 {
		return nil, fmt.Errorf("there is no recording %q: this server has none; leave the argument out", name)
	}
	return nil, fmt.Errorf("there is no recording %q; there are: %s", name, strings.Join(o.names(), ", "))
}

// called returns how evidence names the recording.
func (r *recording) called() string { return "recording " + r.name }

// open opens the recording from its beginning.
func (r *recording) open(ctx context.Context, a *app) (trace.Recording, error) {
	open, err := a.openLogs(ctx, &r.logs, r.path)
	return open, openError(err)
}

// about returns what the agent that was recorded reported about itself.
func (r *recording) about(ctx context.Context, a *app) (*agentpb.InfoResponse, error) {
	open, err := r.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	return open.Header().Info, nil
}

var _ mcp.Answers = (*oncall)(nil)
