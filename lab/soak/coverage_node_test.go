//go:build node

package soak

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// side is one side of a step.
type side struct{ step, on string }

// coverage has the sides at which a pod may be held, and the sides at which one was.
type coverage struct {
	rules   map[side]string // by side; of the sides at which the agent lets a pod be held
	stages  []string
	failing []string // steps that may be made to fail

	mu    sync.Mutex
	all   []side // the sides of rules, in the order of the catalogue
	hit   map[side]int
	roles map[string]int // holds by rule and goroutine
}

func newCoverage(info *agentpb.InfoResponse) *coverage {
	c := &coverage{rules: map[side]string{}, hit: map[side]int{}, roles: map[string]int{}}
	for _, s := range info.Steps {
		for on, rule := range map[string]string{"enter": s.HoldEnter, "exit": s.HoldExit} {
			if rule != string(probes.HoldNo) {
				c.rules[side{s.Name, on}] = rule
			}
		}
		for _, on := range []string{"enter", "exit"} {
			if c.rules[side{s.Name, on}] != "" {
				c.all = append(c.all, side{s.Name, on})
			}
		}
		if s.Stage == "cri" && slices.ContainsFunc(s.Abilities, wire.Sees) || c.rules[side{s.Name, "enter"}] != "" {
			c.failing = append(c.failing, s.Name)
		}
		if c.rules[side{s.Name, "enter"}] != "" && !slices.Contains(c.stages, s.Stage) {
			c.stages = append(c.stages, s.Stage)
		}
	}
	return c
}

// choose returns any side. Half of the time it returns one at which no pod was held yet.
func (c *coverage) choose(r *rand.Rand) side {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.all
	if r.IntN(2) == 0 {
		var fresh []side
		for _, s := range c.all {
			if c.hit[s] == 0 {
				fresh = append(fresh, s)
			}
		}
		if len(fresh) > 0 {
			from = fresh
		}
	}
	return from[r.IntN(len(from))]
}

func (c *coverage) held(at side, goroutine string) (rule string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rule = c.rules[at]
	c.hit[at]++
	c.roles[rule+" on "+goroutine]++
	return rule
}

func (c *coverage) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	sum, most := 0, slices.Clone(c.all)
	var never []string
	hit := 0
	for _, s := range c.all {
		sum += c.hit[s]
		if c.hit[s] > 0 {
			hit++
		} else {
			never = append(never, s.on+" of "+s.step)
		}
	}
	fmt.Fprintf(&b, "%d holds, at %d of %d sides that may be held\n", sum, hit, len(c.all))
	slices.SortStableFunc(most, func(x, y side) int { return cmp.Compare(c.hit[y], c.hit[x]) })
	for _, s := range most[:min(10, len(most))] {
		fmt.Fprintf(&b, "  %-40s %d\n", s.on+" of "+s.step, c.hit[s])
	}
	fmt.Fprintf(&b, "  never: %s\n", strings.Join(never, ", "))
	for _, role := range sorted(c.roles) {
		fmt.Fprintf(&b, "  rule %-37s %d\n", role, c.roles[role])
	}
	return b.String()
}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
