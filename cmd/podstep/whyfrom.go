package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

// whyFrom says where podstep why looks.
type whyFrom struct{ pid int }

func (f *whyFrom) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.pid, "pid", 0, "`PID` of the kubelet of this machine to look at (default: that of the pod's node)")
}

// sources returns what can be reached from here, and the namespace of a pod that is named
// without one. many says that the question is about more than one pod.
func (a *app) sources(f *whyFrom, many bool) (from gather.From, namespace string, err error) {
	config := a.clientConfig()
	near := &gather.Nearby{PID: f.pid}
	rest, err := config.ClientConfig()
	namespace = "default"
	switch {
	case err == nil:
		if namespace, _, err = config.Namespace(); err != nil {
			return from, "", kubeconfigError(err)
		}
		rest = kubeapi.ReadOnly(rest)
		if from.API, err = kubeapi.New(rest); err != nil {
			return from, "", err
		}
		near.Login = rest
	case clientcmd.IsEmptyConfig(err) && a.kubeconfig == "" && a.context == "":
		from.Absent = append(from.Absent, evidence.Unseen{
			Source: evidence.API, What: "API server", Why: evidence.Absent, Message: "no kubeconfig is known: name one with --kubeconfig or KUBECONFIG",
		})
	default:
		return from, "", kubeconfigError(err)
	}
	from.More = gather.OnNode(from.API, near, many)
	nodes, err := a.nodes()
	if err != nil {
		return from, "", err
	}
	switch _, err := os.Stat(a.socketOrDefault()); {
	case len(nodes) > 1:
		from.More = append(from.More, gather.NewAgents(nodes, many))
	case err == nil || a.named():
		from.More = append(from.More, &gather.Agent{Node: nodes[0], Whole: many})
	default:
		from.Absent = append(from.Absent, evidence.Unseen{
			Source: evidence.Agent, What: "events of the pod", Why: evidence.Absent, Message: "no agent runs here",
		})
	}
	return from, namespace, nil
}

// language returns the reader's language: the one that a flag names, or that of the environment.
func language(flag string) words.Lang {
	if flag != "" {
		return words.Lang(flag)
	}
	return words.LangOf(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
}

// gatherer finds out about pods for the screen, which has the agent's events already.
type gatherer struct {
	app  *app
	from whyFrom
}

// gatherer returns nil if there is no source to ask.
func (a *app) gatherer() *gatherer {
	g := &gatherer{app: a}
	if from, err := g.sources(); err != nil || from.API == nil && len(from.More) == 0 {
		return nil
	}
	return g
}

func (g *gatherer) sources() (gather.From, error) {
	from, _, err := g.app.sources(&g.from, false)
	from.More = slices.DeleteFunc(from.More, func(s gather.Source) bool {
		source, _ := s.Names()
		return source == evidence.Agent
	})
	from.Absent = nil
	return from, err
}

func (g *gatherer) Pod(ctx context.Context, name evidence.Name) *evidence.Snapshot {
	from, err := g.sources()
	s := from.Pod(ctx, name)
	if err != nil {
		code, message := gather.WhyNot(err)
		s.Missed(evidence.API, "API server", code, message)
	}
	return s
}

func (g *gatherer) Unscheduled(ctx context.Context) ([]*evidence.Snapshot, error) {
	from, err := g.sources()
	if err != nil {
		return nil, err
	}
	return from.Unscheduled(ctx)
}

// askTrace returns answers from a trace file: about one pod or, if none is named, about all of them.
func (a *app) askTrace(ctx context.Context, f *whyFlags, arg string) (func(context.Context) (whyAnswer, error), error) {
	if f.watch {
		return nil, usagef("--watch does not go with --trace and --log: what a file says does not change")
	}
	var names []string
	if f.trace != "" {
		names = []string{f.trace}
	}
	var sel *agentpb.PodSelector
	var err error
	if arg != "" {
		if sel, err = f.name.one(arg); err != nil {
			return nil, err
		}
	}
	if sel == nil {
		many, err := a.manyThen(ctx, f, names)
		return func(context.Context) (whyAnswer, error) { return newManyAnswer(many), nil }, err
	}
	report, err := a.reportThen(ctx, f, sel, names)
	return func(context.Context) (whyAnswer, error) { return &oneAnswer{Report: report, columns: f.columns}, nil }, err
}

// manyThen returns what recordings have of all pods.
func (a *app) manyThen(ctx context.Context, f *whyFlags, names []string) (*gather.Many, error) {
	answers, err := askThen(ctx, a, &f.logFiles, &f.at, nil, names, func(t *gather.Trace) (*gather.Many, error) { return t.All(), nil })
	if err != nil {
		return nil, err
	}
	all := &gather.Many{}
	for _, answer := range answers {
		if answer.Err != nil {
			all.Unseen = append(all.Unseen, evidence.Unseen{Source: evidence.Trace, What: "the record of " + answer.Name, Why: evidence.Failed, Message: answer.Err.Error()})
			continue
		}
		all.Pods, all.Unseen = append(all.Pods, answer.Value.Pods...), append(all.Unseen, answer.Value.Unseen...)
		all.Looked += answer.Value.Looked
	}
	return all, nil
}

// reportThen explains a pod by what recordings have of it. Of those of several nodes one has it.
func (a *app) reportThen(ctx context.Context, f *whyFlags, sel *agentpb.PodSelector, names []string) (*causes.Report, error) {
	answers, err := askThen(ctx, a, &f.logFiles, &f.at, sel, names, func(t *gather.Trace) (*causes.Report, error) {
		found := t.Named(sel.Namespace, sel.Name)
		switch len(found) {
		case 0:
			return nil, nil
		case 1:
			return causes.Explain(t.Pod(found[0])), nil
		}
		return nil, errSeveral(found)
	})
	switch {
	case err != nil:
		return nil, err
	case len(answers) > 1:
		i, err := onlyOne(answers, sel, func(a fleet.Answer[*causes.Report]) bool { return a.Value != nil })
		return answers[i].Value, err
	case answers[0].Value == nil:
		return nil, fmt.Errorf("%s has no pod %s", answers[0].Name, strings.TrimPrefix(sel.Written(), "default/"))
	}
	return answers[0].Value, nil
}

// readPast reads what recordings have of a moment. sel chooses the pods; nil: all.
func (a *app) readPast(ctx context.Context, logs *logFlags, flag *atFlag, sel *agentpb.PodSelector, from string, names []string) (*gather.Trace, error) {
	at, err := flag.time()
	if err != nil {
		return nil, err
	}
	logs.past.pods, logs.past.at, logs.past.state = sel, at, true
	r, err := a.openLogs(ctx, logs, names...)
	if err != nil {
		return nil, openError(err)
	}
	defer r.Close()
	if n, is := r.(*noted); is && !at.IsZero() {
		if _, recorded := n.Recorded(at); !recorded {
			at = time.Time{} // nobody saw what lasted until then
		}
	}
	return gather.ReadRecording(from, r, at)
}

func (g *gatherer) Logs(ctx context.Context, s *evidence.Snapshot) []evidence.ContainerLog {
	from, _ := g.sources() // an error is among what Pod could not see
	return from.Logs(ctx, s)
}
