package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/probes/words"
)

// whyFlags are the flags of podstep why.
type whyFlags struct {
	name     podName
	out      format
	lang     choice
	from     whyFrom
	all      bool
	watch    bool
	logs     bool
	columns  bool
	trace    string
	bundle   string
	logFiles logFlags
	at       atFlag
}

const whyLong = `Finds out why a pod is stuck, and names the cause with its evidence, the timer
that runs, and what to do next.

It asks whatever it can reach: the API server, with the credentials that kubectl
would use; the kubelet, through the API server; and where podstep runs on the
node, the container runtime, the machine, and podstep's agent if there is one. It
says what it could not see, and it never changes anything.

KIND/NAME asks for all pods of an owner, such as deployment/web, and why it has
too few. node/NAME, namespace/NAME, pvc/NAME and service/NAME ask for such an object,
and for its pods that are not well. -A asks for every pod that is not well.

--bundle with a POD writes what podstep found out to FILE, for somebody who debugs
it elsewhere: the snapshot that the answer comes from, the pod's story, the stacks
of the kubelet's goroutines, the ends of the logs of kubelet and runtime, and the
kubelet's checkpoints, all without what may be a secret. README.txt in it lists
them. Without a POD, podstep explains what the bundle FILE has.

--at asks what was known at a TIME, such as 03:12, by what podstep attach --record-dir
has recorded: of this machine, or with --trace DIR of a copy of that directory. The
answer is that of the events alone; nothing else is asked.

Where the API server, the kubelet, the runtime and the node's disk differ about a
pod, the answer shows that, and for how long. --columns shows all that they have.
If the kubelet was started within the last hour, the answer also says what has
changed for the pod since then.

--logs adds the last lines that the container of the first cause wrote, without
what looks like a secret.

The exit code is 0 when nothing is wrong, 3 when something is, 1 when that cannot
be found out, and 2 if the command line is wrong.`

func (a *app) why() *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why [POD|KIND/NAME] [-n NAMESPACE] [-A] [--watch] [-o json|yaml]",
		Short: "Why a pod is stuck",
		Long:  whyLong,
		Example: `  podstep why web
  podstep why deployment/web -n shop
  podstep why node/worker-1
  podstep why service/web -n shop
  podstep why -A
  podstep why web --logs
  podstep why web --columns
  podstep why web --trace web.podstep
  podstep why web --log kubelet.log --log containerd.log
  podstep why web --log node/worker-1
  podstep why web --at 03:12
  podstep why -A --at 03:12 --trace record
  podstep why web --bundle web.tar.gz
  podstep why --bundle web.tar.gz
  podstep why web -o json | jq -r '.findings[0].id'`,
		Args:              arguments(0, 1, "POD|KIND/NAME"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd.Context(), &f, first(args))
		},
	}
	f.name.add(cmd)
	f.out.add(cmd, "json", "yaml")
	f.lang.of = []string{string(words.English), string(words.Chinese)}
	f.lang.add(cmd, "lang", "", "language of the answer (default: the locale's)")
	f.from.add(cmd)
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "every pod that is not well, in all namespaces, the worst first")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "ask again every two seconds, and print what has changed, until Ctrl-C")
	cmd.Flags().BoolVar(&f.logs, "logs", false, "also the last lines of the container that the first cause is about")
	cmd.Flags().BoolVar(&f.columns, "columns", false, "also what kubectl shows, the kubelet has, the runtime runs and the disk says of the pod")
	cmd.Flags().StringVar(&f.trace, "trace", "", "ask the trace `FILE`, or record directory: what was known at its end, or --at; nothing else is asked")
	f.at.add(cmd)
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "with a POD, also write the evidence to the new `FILE`; without, explain the evidence in it")
	f.logFiles.add(cmd, "ask the kubelet's log in `FILE`, or the logs of node/NAME, and nothing else; several times: with containerd's, or with older ones")
	return cmd
}

// recorded reports whether a recording is asked, and nothing else.
func (f *whyFlags) recorded() bool {
	return f.trace != "" || len(f.logFiles.logs) > 0 || f.at.text != ""
}

// explain answers for what the command line names.
func (a *app) explain(ctx context.Context, f *whyFlags, arg string) error {
	if arg == "" && f.bundle != "" && !f.all {
		return a.explainBundle(f)
	}
	if arg == "" && !f.all && !f.recorded() {
		return usagef("POD is missing; name one, or ask for all with -A")
	}
	if arg != "" && f.all {
		return usagef("%q and -A are both given; give one of them", arg)
	}
	ask, err := a.question(ctx, f, arg)
	if err != nil {
		return err
	}
	if f.watch {
		return a.watchWhy(ctx, f, ask)
	}
	answer, err := ask(ctx)
	if err != nil {
		return err
	}
	return a.printAnswer(answer, f)
}

// printAnswer prints an answer. It returns errWrong if something is wrong.
func (a *app) printAnswer(answer whyAnswer, f *whyFlags) error {
	if err := answer.print(a.out, f); err != nil {
		return err
	}
	if answer.wrong() {
		return errWrong
	}
	return nil
}

// whyAnswer is an answer of why: one report, or a summary of many.
type whyAnswer interface {
	// wrong reports whether something is wrong with a pod.
	wrong() bool
	print(w io.Writer, f *whyFlags) error
	// data is the answer as scripts get it.
	data(l words.Lang) any
	// key changes when something new is found.
	key() string
}

// question returns a function that answers what the command line asks, as often as it is
// called. Each time it looks for its sources anew: sources keep what they have found, and a
// kubelet or an agent may have been started again meanwhile.
func (a *app) question(ctx context.Context, f *whyFlags, arg string) (func(context.Context) (whyAnswer, error), error) {
	if f.bundle != "" && (f.recorded() || f.all || f.watch) {
		return nil, usagef("--bundle is for one pod that is asked once; leave out --trace, --log, --at, -A and --watch")
	}
	if f.logs && (f.recorded() || f.all || f.watch) {
		return nil, usagef("--logs is for one pod that is asked once; leave out --trace, --log, --at, -A and --watch")
	}
	if f.columns && f.all {
		return nil, usagef("--columns is for one pod; leave out -A, or name the pod")
	}
	if f.recorded() {
		return a.askTrace(ctx, f, arg)
	}
	kind, name, _ := strings.Cut(arg, "/")
	isOwner := gather.KindOf(kind) != ""
	if kind == "pod" || kind == "pods" || kind == "po" {
		arg = name
	}
	isObject := name != "" && gather.IsObject(kind)
	if name != "" && f.name.namespace == "" && gather.IsOtherKind(kind) {
		return nil, usagef("podstep why explains pods, what owns them (deployment, replicaset, statefulset, daemonset, job, cronjob, replicationcontroller), nodes, namespaces, claims (pvc) and services, and %s is none of these; a pod in a namespace %s is asked about with podstep why %s -n %s", arg, kind, name, kind)
	}
	if f.logs && (isOwner || isObject) {
		return nil, usagef("--logs is for one pod; name one of the pods of %s", arg)
	}
	if f.columns && (isOwner || isObject) {
		return nil, usagef("--columns is for one pod; name one of the pods of %s", arg)
	}
	if f.bundle != "" && (isOwner || isObject) {
		return nil, usagef("--bundle is for one pod; name one of the pods of %s", arg)
	}
	var sel *agentpb.PodSelector // of one pod; nil: it is about many
	if !f.all && !isOwner && !isObject {
		var err error
		if sel, err = f.name.one(arg); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) (whyAnswer, error) {
		from, namespace, err := a.sources(&f.from, sel == nil)
		switch {
		case err != nil:
			return nil, err
		case sel != nil:
			return a.whyPod(ctx, from, namespace, sel, f)
		case from.API == nil:
			return nil, errors.New("this asks the API server, and no kubeconfig is known: name one with --kubeconfig or KUBECONFIG")
		case f.all:
			return whyAll(ctx, from, f.name.namespace)
		}
		of := evidence.Name{Namespace: cmp.Or(f.name.namespace, namespace), Name: name}
		if isObject {
			return whyObject(ctx, from, kind, of)
		}
		return whyOwner(ctx, from, kind, of)
	}, nil
}

// whyPod answers for one pod. If no namespace was given, and the kubeconfig's namespace has no
// such pod, it takes the only pod of that name in the cluster.
func (a *app) whyPod(ctx context.Context, from gather.From, namespace string, sel *agentpb.PodSelector, f *whyFlags) (whyAnswer, error) {
	name := evidence.Name{Namespace: cmp.Or(sel.Namespace, namespace), Name: sel.Name}
	s := from.Pod(ctx, name)
	if s.Best() == nil && s.Story == nil && sel.Namespace == "" && from.API != nil {
		others, err := gather.Named(ctx, from.API, sel.Name)
		switch {
		case err == nil && len(others) == 1:
			s = from.Pod(ctx, others[0])
		case err == nil && len(others) > 1:
			return nil, errSeveral(others)
		}
	}
	r := causes.Explain(s)
	if s.Best() == nil && s.Story == nil {
		return nil, noPod(name, s)
	}
	a.addVictims(ctx, f, r)
	answer := &oneAnswer{Report: r, columns: f.columns}
	if f.bundle != "" {
		if err := a.writeBundle(ctx, f.bundle, from, s); err != nil {
			return nil, err
		}
	}
	if f.logs {
		answer.log = lastLines(r, from.Logs(ctx, s))
	}
	return answer, nil
}

// noPod returns the reason why nothing can be said of a pod: the API server has none of that name, or it was not asked, and
// why an agent, which may know the pod, has not answered.
func noPod(name evidence.Name, s *evidence.Snapshot) error {
	api, agent := s.FirstUnseen(evidence.API), s.FirstUnseen(evidence.Agent)
	switch {
	case api == nil:
		return fmt.Errorf("there is no pod %s", name)
	case agent == nil || agent.Why == evidence.Absent:
		return fmt.Errorf("nothing is known of pod %s: %s: %s", name, api.What, api.Reason())
	}
	return fmt.Errorf("nothing is known of pod %s: %s: %s; the agent's %s: %s", name, api.What, api.Reason(), agent.What, agent.Reason())
}

// errSeveral returns the error for a name that pods of more than one namespace have.
func errSeveral(pods []evidence.Name) error {
	var names []string
	for _, n := range pods {
		names = append(names, n.String())
	}
	return fmt.Errorf("there are %d pods called %s: %s; name one with its namespace", len(pods), pods[0].Name, strings.Join(names, ", "))
}

// oneAnswer is the answer for one pod.
type oneAnswer struct {
	*causes.Report
	columns bool
	log     *evidence.ContainerLog // nil: nobody asked for it, or the first cause is about no container
}

func (o *oneAnswer) wrong() bool { return o.Wrong() }

func (o *oneAnswer) print(w io.Writer, f *whyFlags) error {
	l := language(f.lang.value)
	return f.out.print(w, o.data(l), func(w io.Writer) {
		writeFindings(w, o.Report, l)
		if o.columns {
			writeColumns(w, o.Columns, l)
		} else {
			writeDiffering(w, o.Columns, l)
		}
		writeRestart(w, o.Restart, l)
		writeEdits(w, o.Report, l)
		writeUnseen(w, causes.Missed(o.Unseen, o.Open() || o.columns), l)
		writeLog(w, o.log, l)
	})
}

func (o *oneAnswer) data(l words.Lang) any {
	data := newWhyJSON(o.Report, l)
	data.Log = o.log
	if o.columns && o.Columns != nil {
		data.Columns = newRowsJSON(o.Columns.Rows, l)
	}
	return data
}

func (o *oneAnswer) key() string {
	key := o.Word() + " " + string(o.Phase)
	for i := range o.Findings {
		key += " " + o.Findings[i].Cause.ID + "/" + o.Findings[i].Subject
	}
	for _, r := range o.Columns.Differing() {
		key += " " + r.Name(words.English)
	}
	return key
}
