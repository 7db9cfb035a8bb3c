package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/far"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/tui"
	"github.com/podstep/podstep/tui/session"
)

const (
	// defaultFor is how long a pod of podstep may run at most, and longestFor how long a person may let it.
	defaultFor = time.Hour
	longestFor = 24 * time.Hour
	// startWithin is how long the pod may take to start, the pull of its image included.
	startWithin = 3 * time.Minute
	// makeWithin is how long the API server may take to make the pod.
	makeWithin = 30 * time.Second
	// removeWithin is how long the API server may take to delete the pod, after whatever ended podstep.
	removeWithin = 10 * time.Second
	// agentNamespace is where the pod is made. The Pod Security levels of clusters leave it out, as a rule.
	agentNamespace = "kube-system"
	// imageEnv names the environment variable with the image, imageRepository the image of a release.
	imageEnv        = "PODSTEP_IMAGE"
	imageRepository = "localhost/podstep"
)

// connectFlags say how to get to the agent on a pod's node.
type connectFlags struct {
	podName
	in                  string
	image               string
	for_                *period
	yes, holds, passive bool
	more                []string
}

const connectLong = `Opens the screen at a pod of any node of the cluster, from a machine that has only a
kubeconfig. As a plugin of kubectl, kubectl podstep POD is the same.

If a pod of podstep is ready on the pod's node, as the chart's DaemonSet puts it
there, podstep connects to the agent in it. If there is none, podstep asks, and then
makes a pod on that node for a while: privileged, with the host's processes and
network, and by default with an agent that only looks. No scheduler is asked, and no
port is opened: the agent's protocol goes through an exec in that pod.

podstep removes its pod when you leave the screen, and however else it ends. If
podstep is killed, or this machine is lost, the pod ends after --for, and the next
podstep connect removes it. The processes in the path of the kubelet's calls leave
the pod's control group, so that no call is lost when somebody deletes the pod.

It takes the rights to get pods, to create pods/exec (and get, before Kubernetes
1.35) where podstep's pods are and, to make a pod, to create and delete pods there.`

func (a *app) connect() *cobra.Command {
	var ui uiFlags
	var flags connectFlags
	cmd := &cobra.Command{
		Use:   "connect POD [-n NAMESPACE] [--allow-holds] [--image IMAGE] [--for DURATION] [--yes] [flags]",
		Short: "Open the screen at a pod of any node, through the API server",
		Long:  connectLong,
		Example: `  kubectl podstep web
  kubectl podstep web -n shop --allow-holds --image registry.example/podstep:v0.1.0
  podstep connect shop/web --context production --yes --for 15m`,
		Args: arguments(1, 1, "POD"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.connectTo(cmd.Context(), args[0], &flags, &ui) },
	}
	flags.add(cmd)
	ui.addLive(cmd)
	return cmd
}

func (f *connectFlags) add(cmd *cobra.Command) {
	f.for_ = newPeriod("--for 15m")
	f.podName.add(cmd)
	cmd.Flags().StringVar(&f.in, "agent-namespace", agentNamespace, "the `NAMESPACE` of the pod that podstep makes")
	cmd.Flags().StringVar(&f.image, "image", "", "the `IMAGE` of that pod (default: $PODSTEP_IMAGE, then "+imageRepository+" of this version, as it is imported on a node)")
	f.for_.add(cmd, "for", "how long that pod may run at most (default: 1h)")
	cmd.Flags().BoolVar(&f.holds, "allow-holds", false, "let pods of the node be held, and calls be made to fail")
	cmd.Flags().BoolVar(&f.passive, "passive", false, "put nothing in the path of the kubelet's calls to its runtime")
	cmd.Flags().StringArrayVar(&f.more, "attach-flag", nil, "one more `FLAG` for the podstep attach in that pod, such as --tier=2; several times")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "make the pod without asking")
}

// connectTo opens the screen at a pod, wherever it is.
func (a *app) connectTo(ctx context.Context, arg string, flags *connectFlags, ui *uiFlags) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	if a.named() {
		return usagef("connect finds the node of the pod by itself; leave out --socket, --node and --ssh, or leave out connect POD")
	}
	o, err := ui.options()
	if err != nil {
		return err
	}
	v := &visit{app: a, flags: flags}
	if err := v.find(ctx, arg); err != nil {
		return err
	}
	c, err := v.agent(ctx)
	defer v.remove(ctx)
	if err != nil {
		return err
	}
	if flags.holds && c.About().GetReadOnly() {
		c.Close()
		return fmt.Errorf("the agent on node %s only looks; leave out --allow-holds, or let its DaemonSet hold pods (allowHolds: true)", v.node)
	}
	a.where, o.Pod = a.with(c.Place), &tui.PodName{Namespace: v.namespace, Name: v.pod}
	a.addSources(&o)
	return a.show(ctx, session.NewLive(c), o)
}

// visit is a person's way to one pod.
type visit struct {
	app   *app
	flags *connectFlags

	cluster              *far.Cluster
	namespace, pod, node string
	made                 *far.Agent // nil: no pod was made
}

// find finds the pod and its node.
func (v *visit) find(ctx context.Context, arg string) error {
	sel, err := v.flags.one(arg)
	if err != nil {
		return err
	}
	if d := v.flags.for_.d; d > longestFor || d != 0 && d < time.Minute {
		return usagef("--for %s: it is from 1m to %s", d, longestFor)
	}
	c, namespace, err := v.app.cluster(v.flags.in)
	if err != nil {
		return err
	}
	v.cluster, v.namespace, v.pod = c, cmp.Or(sel.Namespace, namespace), sel.Name
	v.node, err = c.NodeOf(ctx, v.namespace, v.pod)
	if kubeapi.IsCode(err, http.StatusNotFound) {
		return fmt.Errorf("there is no pod %s/%s; name one of another namespace with -n NAMESPACE", v.namespace, v.pod)
	}
	return err
}

// agent connects to the agent on the pod's node, and makes one if there is none.
func (v *visit) agent(ctx context.Context) (*client.Client, error) {
	owner, err := v.cluster.Self(ctx)
	if err != nil {
		return nil, err
	}
	v.clean(ctx, owner)
	a, err := v.cluster.Ready(ctx, v.node)
	if err != nil {
		return nil, err
	}
	if a != nil {
		if a.Temporary {
			v.app.printf("pod %s is there for a while, made by %s; it may go when they leave", a, cmp.Or(a.Owner, "somebody"))
		}
		return client.Reach(ctx, v.place(a))
	}
	o, err := v.podOptions(owner)
	if err != nil {
		return nil, err
	}
	if err := v.ask(ctx, o); err != nil {
		return nil, err
	}
	return v.start(ctx, o)
}

// place returns the place of an agent that was there: in that pod, or in the one that the DaemonSet puts in its place.
func (v *visit) place(a *far.Agent) client.Place {
	if a.Temporary {
		return v.cluster.InPod(a)
	}
	return v.cluster.OnNode(v.node)
}

// clean removes what earlier podsteps of the same user could not.
func (v *visit) clean(ctx context.Context, owner string) {
	removed, err := v.cluster.RemoveOrphans(ctx, owner)
	for i := range removed {
		v.app.printf("removed pod %s on node %s, which an earlier podstep of yours has left", &removed[i], removed[i].Node)
	}
	if err != nil && !kubeapi.IsCode(err, http.StatusForbidden) {
		v.app.printf("could not look for pods that earlier podsteps of yours have left: %v", err)
	}
}

func (v *visit) podOptions(owner string) (*far.PodOptions, error) {
	image := cmp.Or(v.flags.image, os.Getenv(imageEnv))
	if own := version.Own(); image == "" && strings.HasPrefix(own, "v") {
		image = imageRepository + ":" + strings.TrimPrefix(own, "v")
	}
	if image == "" {
		return nil, usagef("this podstep is no release, so there is no image of its version; name one with --image IMAGE or %s", imageEnv)
	}
	return &far.PodOptions{
		Namespace: v.flags.in, Node: v.node, Image: image, For: cmp.Or(v.flags.for_.d, defaultFor),
		AllowHolds: v.flags.holds, Passive: v.flags.passive, More: v.flags.more, Owner: owner,
	}, nil
}

// ask shows what podstep would make, and asks whether it may.
func (v *visit) ask(ctx context.Context, o *far.PodOptions) error {
	may := "it only looks"
	if o.AllowHolds {
		may = "everybody who may exec in it can hold pods of the node"
	}
	path := "a process of podstep stands in the path of the kubelet's calls to its runtime"
	if o.Passive {
		path = "nothing stands in the path of the kubelet's calls"
	}
	v.app.printf("no pod of podstep is ready on node %s. podstep would make one in namespace %s:", o.Node, o.Namespace)
	v.app.printf("  image      %s", o.Image)
	v.app.printf("  rights     privileged, with the host's processes, network, /run/podstep and /sys/fs/cgroup: root on the node")
	v.app.printf("  agent      %s; %s", may, path)
	v.app.printf("  until      you leave the screen, at most %s", o.For)
	if v.flags.yes {
		return nil
	}
	yes, err := v.app.agrees(ctx, "Make it?", "make the pod")
	if err == nil && !yes {
		err = errors.New("no pod was made")
	}
	return err
}

// agrees asks a person a question, and reports whether the answer is a yes. If nobody can be asked, the error names --yes and
// its purpose.
func (a *app) agrees(ctx context.Context, question, purpose string) (bool, error) {
	if !isTerminal(os.Stdin) {
		return false, usagef("nobody can be asked here; give --yes to %s", purpose)
	}
	fmt.Fprint(a.err, question+" [y/N] ")
	return answersYes(ctx, os.Stdin), nil
}

// answersYes reads one line, and reports whether it is a yes. It does not wait for a line once ctx is over.
func answersYes(ctx context.Context, in io.Reader) bool {
	lines := make(chan string, 1)
	go func() {
		var text []byte
		one := make([]byte, 1)
		for n, err := in.Read(one); err == nil && n > 0 && one[0] != '\n' && len(text) < 80; n, err = in.Read(one) {
			text = append(text, one[0])
		}
		lines <- string(text)
	}()
	select {
	case text := <-lines:
		text = strings.ToLower(strings.TrimSpace(text))
		return text == "y" || text == "yes"
	case <-ctx.Done():
		return false
	}
}

// start makes the pod and connects to its agent.
func (v *visit) start(ctx context.Context, o *far.PodOptions) (*client.Client, error) {
	// Otherwise a pod could be made that nobody knows of.
	making, done := context.WithTimeout(context.WithoutCancel(ctx), makeWithin)
	defer done()
	a, err := v.cluster.Make(making, o)
	if err != nil {
		return nil, v.refused(o, err)
	}
	v.made = a
	v.app.printf("made pod %s on node %s", a, a.Node)
	c, err := v.cluster.Await(ctx, a, startWithin, func(text string) { v.app.printf("%s", text) })
	var why *far.StartError
	switch {
	case errors.As(err, &why):
		return nil, fmt.Errorf("%w; %s", err, v.otherWays())
	case errors.Is(err, context.Canceled):
		return nil, errors.New("interrupted before the pod of podstep had started")
	}
	return c, err
}

// refused says why the API server made no pod, and what to do.
func (v *visit) refused(o *far.PodOptions, err error) error {
	switch {
	case far.IsPodSecurity(err):
		return fmt.Errorf("namespace %s admits no privileged pod (%w); name one that does with --agent-namespace, or %s", o.Namespace, err, v.otherWays())
	case kubeapi.IsCode(err, http.StatusForbidden):
		return fmt.Errorf("make a pod in namespace %s: %w; %s", o.Namespace, err, v.otherWays())
	}
	return fmt.Errorf("make a pod in namespace %s: %w", o.Namespace, err)
}

// otherWays names the ways that need no new pod.
func (v *visit) otherWays() string {
	return fmt.Sprintf("ways that need no new pod: the chart's DaemonSet, if it was there before, or podstep --ssh %s, to an agent that runs on the node", v.node)
}

// remove removes the pod that podstep has made, also after ctx is over.
func (v *visit) remove(ctx context.Context) {
	if v.made == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	if err := v.cluster.Remove(ctx, v.made); err != nil {
		v.app.printf("pod %s could not be removed: %v; kubectl delete pod -n %s %s removes it, and it ends by itself after %s", v.made, err, v.made.Namespace, v.made.Name, cmp.Or(v.flags.for_.d, defaultFor))
		return
	}
	v.app.printf("removed pod %s: podstep detaches, and the pod is gone within a minute", v.made)
}
