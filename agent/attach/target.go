package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/attach/metrics"
	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe"
)

// Target is the kubelet that probes see, with what is known about it.
type Target struct {
	// Kubelet is the kubelet as podstep found it. It may have been started again since.
	Kubelet kubelets.Kubelet

	note  func(text string, err error)
	found func(*kubelets.Kubelet) // is called with each kubelet after the first
	state string                  // the directory of the state of takeovers
	tier  int
	// allowHolds: pods may be held inside the kubelet.
	allowHolds bool
	hosted     []string // the names of all probes
	guard      []string // the command that starts the guard; nil: this program's
	relay      []string // the same of the relay process
	hold       []string // and of the hold process
	debug      []string // and of the debugger process
	// remote is the address of a headless Delve. With riskKubelet a Delve of podstep's own may put breakpoints into
	// the kubelet.
	remote      string
	riskKubelet bool
	unused      time.Duration    // how long a running kubelet may make no call through podstep
	again       time.Duration    // how long after that podstep takes the path again
	metrics     *metrics.Metrics // nil: nobody wants any
	guessed     bool             // nobody has named the kubeconfig
	login       *rest.Config     // for the API server; nil: there is none, because of loginErr
	loginErr    error
	specs       specs
	reports     reports
	lives       lives // of the kubelet
	raising     raising
	owed        owed
}

// lookInside reads the program of a kubelet's process.
func (t *Target) lookInside(k *kubelets.Kubelet) (*uprobe.Probe, error) {
	if k.Woven {
		return nil, errors.New("it is woven: its own agent shows every step")
	}
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	p, err := uprobe.New(c.In(k.Version), k.PID, k.Version, t.tier)
	if err == nil && k.Started != 0 && !kubelets.Same(k.PID, k.Started) {
		return nil, fmt.Errorf("the kubelet, process %d, has ended", k.PID)
	}
	return p, err
}

// unusedAfter is how long a running kubelet may make no call through podstep before the path is given back. A kubelet
// makes some at least every five seconds.
const unusedAfter = time.Minute

// newTarget finds out what there is to know of o's kubelet, and how the API server and the kubelet can be asked. It
// goes on if they cannot.
func newTarget(ctx context.Context, o *Options) *Target {
	t := &Target{
		Kubelet: o.Kubelet, tier: max(o.Tier, 1), allowHolds: o.AllowHolds && !o.ReadOnly, state: o.State,
		guard: o.guard, relay: o.relay, hold: o.hold, debug: o.debug, remote: o.Delve, riskKubelet: o.RiskKubelet, unused: cmp.Or(o.unused, unusedAfter), again: cmp.Or(o.again, restartLate),
	}
	t.lives.find, t.guessed = o.next, o.Kubeconfig == ""
	k := &t.Kubelet
	api, err := askAPI(k, o.Kubeconfig)
	t.login, t.loginErr, t.reports.apiErr = api, err, err
	t.reports.kubelet, t.reports.kubeletErr = askKubelet(k, api)
	if k.Node != "" {
		t.reports.api = api
	}
	t.askConfig(ctx)
	return t
}

// askAPI finds credentials for the API server. It may return some together with an error: they may still serve for
// the kubelet.
func askAPI(k *kubelets.Kubelet, kubeconfig string) (*rest.Config, error) {
	config, err := kubeport.CredentialsOf(k, kubeconfig)
	switch {
	case err == nil && config == nil:
		err = errors.New("there is no kubeconfig; name one with --kubeconfig")
	case err == nil && k.Node == "":
		err = errors.New("the node's name is not known")
	}
	return config, err
}

// askConfigWithin bounds the wait for the kubelet's configuration.
const askConfigWithin = 3 * time.Second

// askConfig asks the kubelet for its configuration, which counts more than its files. If the kubelet does not answer,
// what its files say stays.
func (t *Target) askConfig(ctx context.Context) {
	kubelet := t.reports.kubelet
	if kubelet == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askConfigWithin)
	defer cancel()
	if k, err := kubelets.Configz(ctx, t.Kubelet, kubelet.Client); err == nil {
		t.Kubelet = k
	}
}

// askKubelet finds the way to the kubelet's /pods.
func askKubelet(k *kubelets.Kubelet, config *rest.Config) (*kubeport.Port, error) {
	if k.OwnNetwork {
		return nil, errors.New("it is in a network of its own")
	}
	return kubeport.Of(k, config)
}
