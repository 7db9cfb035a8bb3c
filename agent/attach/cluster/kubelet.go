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
	// askSoon is the wait after the API server has reported a change, which it gives the kubelet too.
	askSoon = 200 * time.Millisecond
	// quietAsks is how many lists in a row must have nothing new before the kubelet is asked seldom.
	quietAsks = 30
	// pollShare bounds the kubelet's work for podstep: one part in so many of the time.
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

	quiet int           // how many lists in a row had nothing new
	took  time.Duration // what the last list took

	url    int // the index of the one of URLs that answered last
	seed   maphash.Seed
	last   map[uint64]*v1.Pod // the pods of the last answer, by the hash of their JSON
	asked  bool
	failed string
}

func newPoll(k *kubeport.Port, l *ledger, o Options) *poll {
	return &poll{kubelet: k, ledger: l, state: func(err error) { o.State(probes.ByKubelet, err) }, seed: maphash.MakeSeed()}
}

func (p *poll) run(ctx context.Context) {
	p.askAndTime(ctx)
	p.ledger.ready()
	for ctx.Err() == nil {
		p.sleep(ctx)
		p.askAndTime(ctx)
	}
}

// askAndTime asks, and keeps how long that took and for how many times nothing was new.
func (p *poll) askAndTime(ctx context.Context) {
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
			news = nil // more news must not put the list off
			p.quiet = 0
			t.Reset(max(askSoon, least))
		}
	}
}

// ask asks once, and reports whether there was something new. If the list fails, no pod counts as gone.
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

// read reads a list of pods one by one, and decodes those that have changed: of thousands of pods, few change in a
// second.
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
