//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-delve/delve/pkg/version"
	"github.com/go-delve/delve/service/api"

	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/park"
)

func delveVersion() string {
	v := version.DelveVersion
	return v.Major + "." + v.Minor + "." + v.Patch
}

// begin has the kubelet stand still, and puts breakpoints at all places.
func (p *process) begin() (err error) {
	stood := time.Now()
	if p.target == nil {
		t, err := attach(p.options.PID)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.target = t
		p.mu.Unlock()
	}
	p.begun.Began = time.Now()
	memory := p.target.read
	if p.target.remote == "" {
		memory = func(at uint64, b []byte) error { return park.ReadMemory(p.target.pid, at, b) }
	}
	p.reader = uprobe.NewReader(p.reading, p.begun.Began, memory)
	var addresses []uint64
	for i, at := range p.reading.Places {
		if at.Address == 0 {
			continue
		}
		p.places[at.Address] = i
		addresses = append(addresses, at.Address)
	}
	if _, err := p.target.set(addresses); err != nil {
		return err
	}
	p.begun.Variables = p.target.knows()
	p.begun.Parks = p.target.own != nil && p.target.own.why == nil
	p.begun.Stood = time.Since(stood)
	return nil
}

// statsEvery is how often podstep is sent how long the kubelet stood still.
const statsEvery = time.Second

// loop has the kubelet go on, and handles its stops.
func (p *process) loop() error {
	stopped, reported := time.Now(), time.Now()
	for {
		p.take()
		if p.leaving {
			return nil
		}
		asked := time.Now()
		p.wait()
		if p.leaving {
			return nil
		}
		waited := time.Since(asked)
		p.stats.Held += waited
		p.count(time.Since(stopped) - waited)
		if time.Since(reported) > statsEvery {
			reported = time.Now()
			stats := p.stats
			p.link.Send(message{Stats: &stats})
		}
		state, err := p.resume()
		stopped = time.Now()
		if err != nil {
			return err
		}
		if err := p.handle(state, stopped); err != nil {
			return err
		}
	}
}

// count adds a stop of the kubelet.
func (p *process) count(stood time.Duration) {
	p.stats.Stops++
	p.stats.Stood += stood
	p.stats.Worst = max(p.stats.Worst, stood)
}

// resume has the kubelet go on until it stands still again.
func (p *process) resume() (*api.DebuggerState, error) {
	p.mu.Lock()
	p.running = true
	p.mu.Unlock()
	state, err := p.target.run(api.DebuggerCommand{Name: api.Continue})
	p.mu.Lock()
	p.running = false
	p.mu.Unlock()
	if err != nil && !errors.Is(err, errExited) {
		err = fmt.Errorf("have the kubelet go on: %w", err)
	}
	return state, err
}

func (p *process) isRunning() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// handle handles a stop: threads that came to places.
func (p *process) handle(state *api.DebuggerState, at time.Time) error {
	var records []uprobe.Record
	for _, th := range state.Threads {
		number, step := p.places[th.PC]
		if th.Breakpoint == nil || !step && !p.lines[th.PC] {
			continue
		}
		stop, err := p.target.stopped(th.ID)
		if err != nil {
			return err
		}
		held := false
		if step {
			stop.At, stop.Place = at, number
			read := p.reader.Read(&stop)
			p.inside.take(&read[0], p.reading.Places[number].Exit)
			if p.isWanted(&read[0], number) {
				held = p.hold(th.ID, &read[0], number)
			}
			records = append(records, read...)
		}
		if !held && p.wantsLine(th.PC) {
			if err := p.atLine(th.ID, th.PC, stop.G, p.reader.Goroutine(stop.G)); err != nil {
				return err
			}
		}
	}
	if len(records) > 0 {
		p.link.Send(message{Records: records})
	}
	p.announce()
	return nil
}

// isWanted reports whether a goroutine at a place is to be held.
func (p *process) isWanted(r *uprobe.Record, place int) bool {
	every, armed := p.wanted.Armed[place]
	return armed && (every || p.wanted.Goroutines[r.Goid] || p.wanted.UIDs[r.UID()])
}

// finish takes the breakpoints back and leaves the kubelet. Those that are held go on.
func (p *process) finish() error {
	err := p.target.leave()
	for _, h := range p.holds {
		if h.How == Goroutine {
			letGo(h.wait)
		}
	}
	return err
}
