package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// retryFlags are the flags of podstep retry.
type retryFlags struct {
	podName
	wait    *period
	message string
	yes     bool
	out     format
}

const retryLong = `Has the kubelet try a pod again at once, when what was wrong is mended: it syncs the
pod within a second or so, and ends the back-offs that it comes to in that turn, of
images, containers that crashed and volumes of the pod's own. If the pod fails
again, its back-off begins anew, with the shortest.

To end a back-off takes a woven kubelet (podstep-kubelet), whose agent is in its
process. With any other kubelet podstep can only have the pod synced: it sets an
annotation on the pod by the API server and takes it off again, so that the kubelet
sees two updates. No back-off ends by that, and podstep prints how long it lasts. It
takes your right to patch the pod, and podstep asks first, unless --yes is given.`

func (a *app) retry() *cobra.Command {
	f := retryFlags{wait: newPeriod("--wait 30s")}
	cmd := &cobra.Command{
		Use:   "retry POD [-n NAMESPACE] [--wait DURATION] [-m TEXT] [--yes] [-o json|yaml]",
		Short: "Have the kubelet try a pod again at once",
		Long:  retryLong,
		Example: `  podstep retry web
  podstep retry shop/db-0 -m "the image is pushed, Ana"
  podstep retry web --yes -o json`,
		Args:              arguments(1, 1, "POD"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := f.one(args[0])
			if err != nil {
				return err
			}
			return a.retryPod(cmd.Context(), sel, &f)
		},
	}
	f.podName.add(cmd)
	f.wait.add(cmd, "wait", "how long to wait for the pod's worker, like 30s (default: the agent's)")
	cmd.Flags().StringVarP(&f.message, "message", "m", "", "`TEXT` for the pod's story, at most 200 bytes; everybody sees it")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "change the pod's annotations without asking, where that is all that can be done")
	f.out.add(cmd, "json", "yaml")
	return cmd
}

// retryJSON is what a retry came to, as scripts get it.
type retryJSON struct {
	Pod probes.Pod `json:"pod"`
	// By is kubelet if the kubelet itself was asked, and api if the pod's object was changed.
	By string `json:"by"`
	// Sync is the number of the worker's turn. Over: it has ended.
	Sync uint32 `json:"sync,omitempty"`
	Over bool   `json:"over"`
	// Ended is the first back-off that was ended; none was if it is missing.
	Ended *endedJSON `json:"ended,omitempty"`
	// Next is when the kubelet tries again by itself, after a back-off that goes on.
	Next *time.Time `json:"next,omitempty"`
}

type endedJSON struct {
	Step string `json:"step"`
	// Kind is container, image or volume, and Name which one.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Length string `json:"length,omitempty"`
}

func newRetryJSON(r *agentpb.RetryResponse) *retryJSON {
	out := &retryJSON{Pod: podOf(r.Pod), By: "kubelet", Sync: r.Sync, Over: r.Over}
	if e := r.Ended; e != nil {
		out.Ended = &endedJSON{Step: e.Step}
		out.Ended.Kind, out.Ended.Name = reason.InBackOff(e.GetOf())
		if e.Length != nil {
			out.Ended.Length = e.Length.AsDuration().String()
		}
	}
	return out
}

func (a *app) retryPod(ctx context.Context, sel *agentpb.PodSelector, f *retryFlags) error {
	c, err := a.dialNodeOf(ctx, sel)
	if err != nil {
		return err
	}
	defer c.Close()
	if !c.About().GetRetries() {
		return a.resync(ctx, c, sel, f)
	}
	t := time.AfterFunc(patience, func() { a.printf("waiting for the worker of %s; Ctrl-C gives up", sel.Written()) })
	answer, err := c.Retry(ctx, &agentpb.RetryRequest{Pods: sel, Wait: f.wait.proto(), Message: f.message})
	t.Stop()
	if err != nil {
		return err
	}
	data := newRetryJSON(answer)
	return f.out.print(a.out, data, func(w io.Writer) {
		fmt.Fprintln(w, words.Clean(reason.Retried(lines.FullName(&data.Pod), answer).En))
	})
}

// resync has the kubelet sync the pod by a change of its object, after a person has agreed.
func (a *app) resync(ctx context.Context, c *client.Client, sel *agentpb.PodSelector, f *retryFlags) error {
	pod, err := onePodOf(ctx, c, sel)
	if err != nil {
		return err
	}
	name := lines.FullName(pod)
	a.printf("no back-off can be ended in this kubelet: podstep is beside it, not in it. podstep would set the annotation")
	a.printf("%s on pod %s and take it off again, so that the kubelet syncs the pod now", retryAnnotation, words.Clean(name))
	if !f.yes {
		switch yes, err := a.agrees(ctx, "Do it?", "change the pod's annotations"); {
		case err != nil:
			return err
		case !yes:
			return errors.New("the pod was not changed")
		}
	}
	api, err := a.writes("retry")
	if err != nil {
		return err
	}
	if err := annotate(ctx, api, pod, time.Now()); err != nil {
		return err
	}
	data := &retryJSON{Pod: *pod, By: "api", Next: a.nextTry(ctx, pod)}
	return f.out.print(a.out, data, func(w io.Writer) {
		fmt.Fprintf(w, "%s: the kubelet was made to sync it; a back-off goes on%s\n", words.Clean(name), untilText(data.Next, a.name, name))
	})
}

// untilText returns for how long a back-off goes on, or where to find that out.
func untilText(next *time.Time, program, pod string) string {
	if next == nil {
		return ", if there is one: " + program + " why " + pod
	}
	return fmt.Sprintf(", and the kubelet tries again in %s", words.Took(time.Until(*next)))
}

// onePodOf returns the one pod that a request means, as its agent knows it.
func onePodOf(ctx context.Context, c *client.Client, sel *agentpb.PodSelector) (*probes.Pod, error) {
	answer, err := c.Pods(ctx, &agentpb.PodsRequest{Pods: sel})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range answer.Pods {
		pod := podOf(p.Pod)
		names = append(names, lines.FullName(&pod))
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("no pod %s on this node; see podstep pods", sel.Written())
	case 1:
		pod := podOf(answer.Pods[0].Pod)
		return &pod, nil
	}
	return nil, fmt.Errorf("%d pods match %s: %s; name one, with its namespace", len(names), sel.Written(), strings.Join(names, ", "))
}
