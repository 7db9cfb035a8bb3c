package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/lab"
	"github.com/podstep/podstep/lab/explore"
	"github.com/podstep/podstep/lab/faults"
)

// exploreFlags are the flags of explore.
type exploreFlags struct {
	explore.Options
	dir, page string
	judgeOnly bool
}

// exploreCommand breaks each call of a kubelet about a pod, one after the other.
func exploreCommand() *cobra.Command {
	f := exploreFlags{Options: explore.Options{Progress: os.Stderr}}
	c := &cobra.Command{
		Use:   "explore --dir DIR --results FILE [flags]",
		Short: "Break each call of a kubelet about a pod, and see what podstep why makes of it",
		Long: `Break each call of a kubelet about a pod, to the container runtime, the API server and plugins, and each of its operations on files, and see what podstep why makes of it.

It starts a sim lab of its own in DIR. It lets a pod live some lives and notes the calls of the kubelet. Then it breaks each call in each way that a call can break, once and always, each time for a new pod. It judges whether the first finding of why names the broken call.

It appends each result to FILE as a line of JSON. When it is started again with FILE, it goes on with the faults that have no result yet.

The exit code is 1 if a finding that is certain named something else than what was broken.`,
		Example: `  podstep-lab explore --dir /tmp/explore --results explored.jsonl
  podstep-lab explore --dir /tmp/explore --results some.jsonl --only StartContainer --recordings kept
  podstep-lab explore --results explored.jsonl --recordings kept --judge-only --page explored.md`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run() },
	}
	flags := c.Flags()
	flags.StringVar(&f.dir, "dir", "", "directory for the lab; new, empty, or a lab's")
	flags.StringVar(&f.Results, "results", "", "file of results, which is continued")
	flags.StringVar(&f.Recordings, "recordings", "", "directory for the snapshot and the trace of each pod that why did not explain")
	flags.BoolVar(&f.KeepAll, "keep-all", false, "keep recordings of pods that why explained, too")
	flags.StringVar(&f.page, "page", "", "file to write a page with all results to")
	flags.BoolVar(&f.judgeOnly, "judge-only", false, "start no lab: judge the recordings of earlier runs anew")
	flags.IntVar(&f.AtOnce, "at-once", 20, "how many faults are tried at one time")
	flags.DurationVar(&f.After, "after", 30*time.Second, "after how long a pod that is not where it has to be is stuck")
	flags.DurationVar(&f.Again, "again", 45*time.Second, "how much later why is asked again about a stuck pod of which it knows nothing")
	flags.DurationVar(&f.Patience, "patience", 3*time.Minute, "how long a pod may take to recover from a single broken call")
	flags.DurationVar(&f.For, "for", time.Hour, "how long the run takes at most")
	flags.IntVar(&f.Sample, "sample", 0, "try only so many faults, chosen evenly, none that holds up the node (default: all)")
	flags.StringVar(&f.Only, "only", "", "try only faults whose name has this text, such as \"create/cri StartContainer\"")
	return c
}

// Bounds of the flags.
const (
	mostAtOnce = 60 // of the pods that a node takes, and of the clients that an agent serves
	leastAfter = 5 * time.Second
)

func (f *exploreFlags) check() error {
	switch {
	case f.Results == "":
		return &flagError{errors.New("say where the results go: --results FILE")}
	case f.judgeOnly && f.Recordings == "":
		return &flagError{errors.New("--judge-only judges recordings: say where they are, --recordings DIR")}
	case f.judgeOnly:
		return nil
	case f.AtOnce < 1 || f.AtOnce > mostAtOnce:
		return &flagError{fmt.Errorf("--at-once %d: choose a number from 1 to %d", f.AtOnce, mostAtOnce)}
	case f.After < leastAfter:
		return &flagError{fmt.Errorf("--after %s: a healthy pod takes longer; choose at least %s", f.After, leastAfter)}
	case f.Again < 0 || f.Patience < 0 || f.For <= 0 || f.Sample < 0:
		return &flagError{errors.New("--again, --patience, --for and --sample do not go below nothing")}
	}
	return nil
}

func (f *exploreFlags) run() error {
	if err := f.check(); err != nil {
		return err
	}
	all, left, err := f.results()
	if err != nil {
		return err
	}
	if f.page != "" {
		if err := os.WriteFile(f.page, []byte(explore.Page(all)), 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	sum := explore.Sum(all, nil)
	fmt.Println(sum)
	if left > 0 {
		fmt.Printf("%d faults are left over: run the same command again\n", left)
	}
	if sum.CertainWrong > 0 {
		return fmt.Errorf("why was certain and wrong about %d faults", sum.CertainWrong)
	}
	return nil
}

// results explores, or judges anew.
func (f *exploreFlags) results() (all []explore.Result, left int, err error) {
	if f.judgeOnly {
		if all, err = explore.Read(f.Results); err == nil {
			err = explore.JudgeAgain(all, f.Recordings)
		}
		return all, 0, err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	e := between{dir: f.dir, table: faults.NewTable()}
	l, err := lab.Start(ctx, e.options())
	if err != nil {
		return nil, 0, errors.Join(err, e.close())
	}
	defer func() { err = errors.Join(err, l.Stop(), e.close()) }()
	ctx, died := context.WithCancelCause(ctx)
	go func() {
		if err := l.Wait(ctx); err != nil {
			died(err)
		}
	}()
	node, err := nodeOf(l.State(), e.table)
	if err != nil {
		return nil, 0, err
	}
	node.Devices, node.Kubelet, node.Anew = e.behind.Devices, restarted{l}, func() error { return signalPart(l, "device-plugin", syscall.SIGHUP) }
	all, left, err = explore.Explore(ctx, node, f.Options)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause) // a part of the lab died
	}
	return all, left, err
}

func nodeOf(state labstate.State, table *faults.Table) (*explore.Node, error) {
	config, err := clientcmd.BuildConfigFromFlags("", state.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	api, err := kubeapi.New(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return &explore.Node{Client: client, API: api, Agent: state.Agent, Table: table}, nil
}

// restarted is the kubelet of a lab that starts it again.
type restarted struct{ lab *lab.Lab }

func (r restarted) PID() int { return r.lab.State().Pids["kubelet"] }

func (r restarted) Kill() error {
	return signalPart(r.lab, "kubelet", syscall.SIGKILL)
}

// signalPart sends a signal to a part of a lab.
func signalPart(l *lab.Lab, part string, s syscall.Signal) error {
	if err := syscall.Kill(l.State().Pids[part], s); err != nil {
		return fmt.Errorf("signal %s: %w", part, err)
	}
	return nil
}

// between stands between the lab's kubelet and what it calls.
type between struct {
	dir         string
	behind      lab.Called
	table       *faults.Table
	sockets     []*faults.Socket
	api         *faults.Server
	files       *faults.Files
	credentials *faults.Credentials
}

// options returns a lab that takes many pods at one time, so that one that is broken does not hold up the others: the
// kubelet pulls their images at the same time, and as often and as fast as it has to.
func (b *between) options() lab.Options {
	return lab.Options{
		Dir: b.dir, Runtime: labstate.Sim, KubeletV: 2, MaxPods: 250, Between: b.open,
		Devices: explore.PluginDevices, DevicePlugin: explore.PluginDevices, Storage: true, RestartKubelet: true,
		KubeletConfig: map[string]any{"serializeImagePulls": false, "registryPullQPS": 0, "eventRecordQPS": 1000, "eventBurst": 2000, "kubeAPIQPS": 1000, "kubeAPIBurst": 2000},
	}
}

func (b *between) open(to lab.Called) (lab.Called, error) {
	b.behind = to
	pki := func(file string) string { return filepath.Join(to.PKI, file) }
	var err error
	b.api, err = faults.ListenAPI(b.table, fmt.Sprintf("127.0.0.1:%d", to.APIPort), faults.Certificates{
		CA: pki("ca.crt"), ServerCert: pki("apiserver.crt"), ServerKey: pki("apiserver.key"), KubeletCert: pki("kubelet.crt"), KubeletKey: pki("kubelet.key"),
	})
	if err != nil {
		return lab.Called{}, err
	}
	// They end with close, or with this process, as the lab does.
	go func() { _ = b.api.Serve() }()
	to.APIPort = b.api.Port()
	for _, called := range []struct {
		side   faults.Side
		socket *string
	}{{faults.CRI, &to.Runtime}, {faults.Plugin, &to.Devices}, {faults.Plugin, &to.Plugin}, {faults.Plugin, &to.Storage}} {
		if *called.socket, err = b.openSocket(called.side, *called.socket); err != nil {
			return lab.Called{}, err
		}
	}
	if to.Credentials, err = b.openCredentials(); err != nil {
		return lab.Called{}, err
	}
	to.Files, err = b.openFiles()
	return to, err
}

// openCredentials opens a socket for the kubelet's credential plugin, and returns its path.
func (b *between) openCredentials() (string, error) {
	root, err := filepath.Abs(b.dir)
	if err != nil {
		return "", fmt.Errorf("find directory of the lab: %w", err)
	}
	path := filepath.Join(root, "credentials.sock")
	if b.credentials, err = faults.ListenCredentials(b.table, path); err != nil {
		return "", err
	}
	go func() { _ = b.credentials.Serve() }()
	return path, nil
}

// openFiles opens a socket for the kubelet's file operations, and returns its path.
func (b *between) openFiles() (string, error) {
	root, err := filepath.Abs(b.dir)
	if err != nil {
		return "", fmt.Errorf("find directory of the lab: %w", err)
	}
	path := filepath.Join(root, "files.sock")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // an explore that was killed leaves it
		return "", fmt.Errorf("remove earlier socket: %w", err)
	}
	if b.files, err = faults.ListenFiles(b.table, path, root); err != nil {
		return "", err
	}
	go func() { _ = b.files.Serve() }()
	return path, nil
}

// openSocket opens a socket for the kubelet in the place of another one, and returns its path.
func (b *between) openSocket(side faults.Side, behind string) (string, error) {
	dir := filepath.Dir(behind)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create directory: %w", err)
	}
	path := filepath.Join(dir, "faults.sock")
	s, err := faults.ListenSocket(b.table, side, path, behind)
	if err != nil {
		return "", err
	}
	b.sockets = append(b.sockets, s)
	go func() { _ = s.Serve() }()
	return path, nil
}

func (b *between) close() (err error) {
	for _, s := range b.sockets {
		err = errors.Join(err, s.Close())
	}
	if b.api != nil {
		err = errors.Join(err, b.api.Close())
	}
	if b.credentials != nil {
		err = errors.Join(err, b.credentials.Close())
	}
	if b.files != nil {
		err = errors.Join(err, b.files.Close())
	}
	return err
}
