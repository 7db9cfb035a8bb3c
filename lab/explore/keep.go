package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/version"
)

// keep writes the snapshot and the trace of a pod on which `why` leaves something to do.
func (t *trial) keep(ctx context.Context, r *Result, s *evidence.Snapshot) error {
	r.Recording = "" // one of an earlier look at the pod shows something else
	if t.Recordings == "" || !r.Open() && !t.KeepAll {
		return nil
	}
	r.Recording = strings.NewReplacer("/", "_", " ", "-", "#", "").Replace(r.ID)
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	file := filepath.Join(t.Recordings, r.Recording)
	if err := os.WriteFile(file+".json", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep snapshot: %w", err)
	}
	return t.trace(ctx, file+".podstep")
}

// trace writes what the agent remembers of the pod to a trace file.
func (t *trial) trace(ctx context.Context, file string) (err error) {
	c, err := client.DialReader(ctx, t.node.Agent)
	if err != nil {
		return fmt.Errorf("keep trace: %w", err)
	}
	defer c.Close()
	of := &agentpb.PodSelector{Namespace: t.namespace, Name: podName}
	w, err := c.Watch(ctx, &agentpb.WatchRequest{Pods: of, History: true, OnlyHistory: true})
	if err != nil {
		return fmt.Errorf("keep trace: %w", err)
	}
	out, err := trace.Create(file, &trace.Header{Podstep: version.Own(), Began: time.Now(), Selection: of.Written(), Info: c.About()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for {
		b, err := w.NextRaw()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("keep trace: %w", err)
		}
		if err := out.Add(b); err != nil {
			return err
		}
	}
}

// JudgeAgain judges the recordings of results anew, as this podstep's causes explain them. dir has the recordings.
func JudgeAgain(all []Result, dir string) error {
	for i := range all {
		r := &all[i]
		if r.Recording == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, r.Recording+".json"))
		if err != nil {
			return fmt.Errorf("read recording: %w", err)
		}
		var s evidence.Snapshot
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("read recording %s: %w", r.Recording, err)
		}
		r.judge(&s, r.Marker)
	}
	return nil
}
