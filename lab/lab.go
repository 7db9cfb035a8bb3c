package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/labstate"
)

// startTimeout is much longer than a slow machine needs.
const startTimeout = 5 * time.Minute

// A Lab is a running node.
type Lab struct {
	options Options
	paths   paths
	names   names
	ground  ground
	node    netip.Addr
	nodes   []labNode
	lock    *os.File
	nest    *nest
	client  *kubernetes.Clientset
	took    time.Duration

	mu       sync.Mutex
	state    labstate.State
	running  []*process
	up       bool // all nodes have been ready
	stopping bool

	life    context.Context // ends when a part dies by itself; its cause names the part
	die     context.CancelCauseFunc
	stopped sync.Once
	stopErr error
}

// Start starts a node and returns when it is Ready. When it cannot, it has removed everything again. The end of ctx ends only the start; Stop ends the lab.
func Start(ctx context.Context, options Options) (*Lab, error) {
	begin := time.Now()
	if err := options.check(); err != nil {
		return nil, err
	}
	l := &Lab{options: options}
	l.ground = newGround(l)
	l.life, l.die = context.WithCancelCause(context.Background())
	if err := l.prepare(); err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	if err := l.startParts(ctx); err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	l.took = time.Since(begin)
	return l, nil
}

// place returns where a lab in dir has its files, and its names.
func place(dir string) (paths, names, error) {
	if dir == "" {
		return paths{}, names{}, usagef("say where the lab is: --dir DIR")
	}
	real, err := resolve(dir)
	if err != nil {
		return paths{}, names{}, err
	}
	return paths{dir: real}, namesOf(real), nil
}

// prepare makes everything that must be there before the first part starts.
func (l *Lab) prepare() error {
	var err error
	if err = l.ground.require(); err != nil {
		return err
	}
	if l.paths, l.names, err = place(l.options.Dir); err != nil {
		return err
	}
	if l.lock, err = claim(l.paths); err != nil {
		return err
	}
	// A killed lab may have left something. The logs of the last lab would only be confused with the new ones.
	if err := l.ground.sweep(); err != nil {
		return fmt.Errorf("clean up after the lab before: %w", err)
	}
	if err := sweepDir(l.paths); err != nil {
		return fmt.Errorf("clean up after the lab before: %w", err)
	}
	l.nodes = nodesIn(l.paths, l.options.Nodes)
	for _, n := range l.nodes {
		if err := n.makeDirs(); err != nil {
			return err
		}
	}
	if err := l.begin(); err != nil {
		return err
	}
	if l.node, err = l.ground.prepare(); err != nil {
		return err
	}
	if err := createCerts(l.paths, l.node, l.nodes); err != nil {
		return err
	}
	if err := l.state.Write(); err != nil {
		return err
	}
	l.nest, err = newNest(l.ground.enter)
	return err
}

// begin fills in the state of a lab of which nothing runs: names, places and ports.
func (l *Lab) begin() error {
	var err error
	l.state = labstate.State{
		Dir:        l.paths.dir,
		Runtime:    l.options.Runtime,
		Node:       nodeName,
		Kubeconfig: l.paths.kubeconfig(),
		Agent:      l.paths.agent(),
		Nodes:      l.nodeStates(),
		Devices:    l.options.Devices,
		Pids:       map[string]int{"podstep-lab": os.Getpid()},
	}
	needs := []string{"kube-apiserver", "etcd", "etcd-peer"}
	for _, n := range l.nodes {
		needs = append(needs, n.part("kubelet"))
	}
	if l.state.Ports, err = choosePorts(l.paths.dir, l.options.Port, needs...); err != nil {
		return err
	}
	if port := l.options.Port; port != 0 {
		if !portFree(port) {
			return fmt.Errorf("port %d of 127.0.0.1 is in use: choose another --port, or leave it out for a free one", port)
		}
		l.state.Ports["kube-apiserver"] = port
	}
	return nil
}

// startParts starts everything and waits for the node.
func (l *Lab) startParts(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the node was not ready after %s", startTimeout))
	defer cancel()
	if err := writeKubeconfig(l.paths, l.paths.kubeconfig(), "admin", l.state.Ports["kube-apiserver"]); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.paths.kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	if l.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("create client: %w", err)
	}

	p := newPlan(ctx, l.options.Progress)
	defer context.AfterFunc(l.life, func() { p.fail(context.Cause(l.life)) })()
	p.add("etcd", inTurn(l.startEtcd, l.waitEtcd))
	p.add("kube-apiserver", inTurn(l.startAPIServer, l.waitAPIServer), "etcd")
	p.add("kube-controller-manager", inTurn(l.startControllerManager, l.waitNamespace), "kube-apiserver")
	p.add("kube-scheduler", l.startScheduler, "kube-apiserver")
	l.ground.add(p)
	if err := p.wait(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = true
	return nil
}

// Wait returns nil when ctx ends, or an error when a part of the lab died.
func (l *Lab) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-l.life.Done():
		return context.Cause(l.life)
	}
}

// Took returns how long the start took.
func (l *Lab) Took() time.Duration { return l.took }

// State returns where everything of the lab is.
func (l *Lab) State() labstate.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	s.Nodes, s.Ports, s.Pids = slices.Clone(s.Nodes), maps.Clone(s.Ports), maps.Clone(s.Pids)
	return s
}

// Stop ends the lab and removes all that it made, except for its logs.
func (l *Lab) Stop() error {
	l.stopped.Do(func() { l.stopErr = l.stop() })
	return l.stopErr
}

// kubeletPatience lets the kubelet finish its log, and its agent take leave of its clients. The other parts need no
// time: their data is thrown away.
const kubeletPatience = 2 * time.Second

func (l *Lab) stop() error {
	if l.lock == nil {
		return nil // nothing was begun
	}
	defer l.lock.Close()
	l.mu.Lock()
	l.stopping = true
	running := slices.Clone(l.running)
	l.mu.Unlock()
	var kubelets sync.WaitGroup
	for _, p := range running {
		if kindOf(p.name) == "kubelet" {
			kubelets.Go(func() { p.end(kubeletPatience) })
		}
	}
	kubelets.Wait()
	for _, p := range running {
		p.end(0)
	}
	err := l.ground.sweep()
	if l.nest != nil {
		l.nest.close()
	}
	return errors.Join(err, sweepDir(l.paths, "logs"))
}
