package gather

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/version"
)

// StoryFile is the name of the file with the pod's story, a trace.
const StoryFile = "story.podstep"

const storyIs = "what the agent's probes saw of the pod and of the node, as a trace"

// keep returns the pod's story as a trace.
func (a *Agent) keep(ctx context.Context, of *Subject) []File {
	text, err := a.trace(ctx, &agentpb.PodSelector{Namespace: of.Kubelet.Namespace, Name: of.Kubelet.Name, Uid: of.Kubelet.UID})
	return []File{fileOf(StoryFile, storyIs, text, err)}
}

// trace writes what the agent remembers of a pod.
func (a *Agent) trace(ctx context.Context, pod *agentpb.PodSelector) ([]byte, error) {
	c, err := client.ReachReader(ctx, a.Place)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	w, err := c.Watch(ctx, &agentpb.WatchRequest{Pods: pod, Node: true, History: true, OnlyHistory: true})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to, err := trace.NewWriter(&out, &trace.Header{Podstep: version.Own(), Began: time.Now(), Selection: pod.Written(), Info: c.About()})
	if err != nil {
		return nil, err
	}
	for {
		b, err := w.NextRaw()
		if errors.Is(err, io.EOF) {
			err := to.Close()
			return out.Bytes(), err
		}
		if err == nil {
			err = to.Add(b)
		}
		if err != nil {
			return nil, err
		}
	}
}
