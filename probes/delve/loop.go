//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-delve/delve/pkg/version"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
)

func delveVersion() string {
	v := version.DelveVersion
	return v.Major + "." + v.Minor + "." + v.Patch
}

// begin makes the kubelet stand still, and puts breakpoints at all places.
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
		t.cover = p.cover
		if err := p.coverOwn(); err != nil {
			return err
		}
	}
	memory := p.target.read
	if p.target.remote == "" {
		memory = func(at uint64, b []byte) error { return park.ReadMemory(p.target.pid, at, b) }
	}
	p.reader = reading.NewReader(p.plan, memory)
	var addresses []uint64
	for i, at := range p.plan.Places {
		if at.Address == 0 {
			continue
		}
		p.places[at.Address] = i
		addresses = append(addresses, at.Address)
	}
	if _, err := p.target.set(addresses); err != nil {
		return err
	}
	p.begun.Goroutines = p.reader.Goroutines()
	p.begun.Variables = p.target.knows()
	p.begun.Parks = p.target.own != nil && p.target.own.why == nil
	p.begun.Stood = time.Since(stood)
	return nil
}

// statsEvery is how often podstep is sent the Stats.
const statsEvery = time.Second

// loop lets the kubelet go on, and handles its stops.
func (p *process) loop() error {
	still, err := watchStill(p.target.pid)
	if err != nil {
		return err
	}
	defer still.close()
	reported := time.Now()
	for {
		p.runRequests()
		if p.leaving {
			return nil
		}
		p.countStop(still.take())
		asked := time.Now()
		p.waitStopped()
		if p.leaving {
			return nil
		}
		p.stats.Held += time.Since(asked)
		still.take() // that stop was for a person
		if time.Since(reported) > statsEvery {
			reported = time.Now()
			stats := p.stats
			p.link.Send(message{Stats: &stats})
		}
		hits, err := p.resume()
		if err != nil {
			return err
		}
		if err := p.handle(hits, time.Now()); err != nil {
			return err
		}
	}
}

// countStop adds a stop of the kubelet. stood is how long it stood still, with the time that Delve took before that
// to let it go on.
func (p *process) countStop(stood time.Duration) {
	p.stats.Stops++
	p.stats.Stood += stood
	p.stats.Worst = max(p.stats.Worst, stood)
}

// resume lets the kubelet run until it stands still again.
func (p *process) resume() ([]hit, error) {
	p.mu.Lock()
	p.running = true
	p.mu.Unlock()
	hits, err := p.target.goOn()
	p.mu.Lock()
	p.running = false
	p.mu.Unlock()
	if err != nil && !errors.Is(err, errExited) {
		err = fmt.Errorf("have the kubelet go on: %w", err)
	}
	return hits, err
}

func (p *process) isRunning() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// handle handles a stop. hits are the threads that came to places.
func (p *process) handle(hits []hit, at time.Time) error {
	var records []reading.Record
	p.busy.Begin()
	defer p.busy.End()
	companion.Mishap("stop")
	p.twice.stop()
	for _, th := range hits {
		number, step := p.places[th.pc]
		if !step && !p.lines[th.pc] {
			continue
		}
		regs, err := p.target.registers(th.tid)
		if err != nil {
			return err
		}
		twice, stop := p.twice.again(regs), stopped(th.tid, regs)
		if passes := p.passes(th.pc, stop.G); passes || twice {
			if !passes && step {
				p.stats.Twice++
			}
			continue
		}
		held := false
		if step {
			stop.At, stop.Place = clock.Of(at), number
			read := p.reader.Read(&stop)
			p.inside.update(&read[0], p.plan.Places[number].Exit)
			if p.isWanted(&read[0], number) {
				held = p.holdThread(th.tid, &read[0], number)
			}
			records = append(records, read...)
		}
		if !held && p.wantsLine(th.pc) {
			if err := p.atLine(th.tid, th.pc, stop.G, p.reader.Goroutine(stop.G)); err != nil {
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
func (p *process) isWanted(r *reading.Record, place int) bool {
	every, armed := p.wanted.Armed[place]
	return armed && (every || p.wanted.Goroutines[r.Goid] || p.wanted.UIDs[r.UID()])
}

// finish takes the breakpoints back and leaves the kubelet. It lets held goroutines go.
func (p *process) finish() error {
	err := p.target.leave()
	for _, h := range p.holds {
		if !h.Whole {
			letGo(h.wait)
		}
	}
	return err
}
