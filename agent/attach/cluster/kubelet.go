package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes"
)

const (
	askEvery  = time.Second
	askSeldom = 5 * time.Second
	// askSoon is when the API server has reported what it gives the kubelet too.
	askSoon = 200 * time.Millisecond
	// quietAsks is how many times nothing new is listed before asking seldom.
	quietAsks = 30
	// pollShare bounds the kubelet's work for us: of so much time, one part.
	pollShare = 20
	askWithin = 30 * time.Second
	// maxList bounds what the kubelet may send, in bytes.
	maxList = 512 << 20
)

// poll asks the kubelet for its pods: there is no watch.
type poll struct {
	kubelet *kubeport.Port
	ledger  *ledger
	state   func(error)

	quiet int           // how many times nothing was new
	took  time.Duration // by the last time

	url    int // of URLs, which answered last
	seed   maphash.Seed
	last   map[uint64]*v1.Pod // of the last answer, by what it was made of
	asked  bool
	failed string
}

func newPoll(k *kubeport.Port, l *ledger, o Options) *poll {
	return &poll{kubelet: k, ledger: l, state: func(err error) { o.State(probes.ByKubelet, err) }, seed: maphash.MakeSeed()}
}

func (p *poll) run(ctx context.Context) {
	p.look(ctx)
	p.ledger.ready()
	for ctx.Err() == nil {
		p.sleep(ctx)
		p.look(ctx)
	}
}

// look asks, and notes how long that took and whether it was worth it.
func (p *poll) look(ctx context.Context) {
	began := time.Now()
	p.quiet++
	if p.ask(ctx) {
		p.quiet = 0
	}
	p.took = time.Since(began)
}

// sleep waits until the kubelet is to be asked again.
func (p *poll) sleep(ctx context.Context) {
	wait := askEvery
	if p.quiet > quietAsks {
		wait = askSeldom
	}
	least := pollShare * p.took
	t := time.NewTimer(max(wait, least))
	defer t.Stop()
	for news := p.ledger.news; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			return
		case <-news:
			news = nil // more of it must not put it off
			p.quiet = 0
			t.Reset(max(askSoon, least))
		}
	}
}

// ask asks once, and reports whether there was something new. A pod that is not
// listed because of a failure is not gone.
func (p *poll) ask(ctx context.Context) (news bool) {
	pods, err := p.get(ctx)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		if text := err.Error(); text != p.failed {
			p.failed = text
			p.state(explainKubelet(err))
		}
		return false
	case p.failed != "" || !p.asked:
		p.failed = ""
		p.state(nil)
	}
	news = p.ledger.list(pods, !p.asked)
	p.asked = true
	return news
}

func explainKubelet(err error) error {
	if kubeapi.IsCode(err, http.StatusForbidden, http.StatusUnauthorized) {
		return fmt.Errorf("%w; it takes a kubeconfig whose user may get nodes/pods or nodes/proxy: name one with --kubeconfig", err)
	}
	return err
}

func (p *poll) get(ctx context.Context) ([]*v1.Pod, error) {
	var errs []error
	for i := range p.kubelet.URLs {
		at := (p.url + i) % len(p.kubelet.URLs)
		pods, err := p.getFrom(ctx, p.kubelet.URLs[at])
		if err == nil {
			p.url = at
			return pods, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil, errors.New("it has no port")
	}
	return nil, errors.Join(errs...)
}

func (p *poll) getFrom(ctx context.Context, base string) ([]*v1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	resp, err := kubeapi.Get(ctx, p.kubelet.Client, base+"/pods")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	pods, kept, err := p.read(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's pods: %w", err)
	}
	p.last = kept
	return pods, nil
}

// read reads a list of pods one by one, and takes those apart that are not as
// they were: of thousands of pods, few change in a second.
func (p *poll) read(r io.Reader) ([]*v1.Pod, map[uint64]*v1.Pod, error) {
	var pods []*v1.Pod
	kept := make(map[uint64]*v1.Pod, len(p.last))
	err := kubeapi.EachItem(r, func(raw []byte) error {
		sum := maphash.Bytes(p.seed, raw)
		pod := p.last[sum]
		if pod == nil {
			var full v1.Pod
			if err := json.Unmarshal(raw, &full); err != nil {
				return err
			}
			pod = trim(&full)
		}
		kept[sum] = pod
		if pod.UID != "" {
			pods = append(pods, pod)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return pods, kept, nil
}
