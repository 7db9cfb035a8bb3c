package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/probes/words"
)

// culpritJSON is a culprit with the number of its victims, as scripts get it.
type culpritJSON struct {
	causes.Culprit
	Pods int `json:"pods"`
}

// culprits returns the culprits of groups, the one with the most victims first.
func culprits(groups []group) (out []culpritJSON) {
	for i := range groups {
		c := groups[i].first.Culprit
		if c == nil {
			continue
		}
		at := slices.IndexFunc(out, func(o culpritJSON) bool { return o.Culprit == *c })
		if at < 0 {
			at = len(out)
			out = append(out, culpritJSON{Culprit: *c})
		}
		out[at].Pods += len(groups[i].pods)
	}
	slices.SortStableFunc(out, func(x, y culpritJSON) int { return cmp.Compare(y.Pods, x.Pods) })
	return out
}

// maxCulprits is how many culprits are named.
const maxCulprits = 5

func culpritNames(all []culpritJSON, l words.Lang) string {
	var names []string
	for _, c := range all[:min(len(all), maxCulprits)] {
		names = append(names, fmt.Sprintf("%s (%d)", c.In(l), c.Pods))
	}
	if len(all) > maxCulprits {
		names = append(names, "...")
	}
	return strings.Join(names, l.In(words.Text(", ", "、")))
}

// byCulprit puts the groups of one culprit one after the other, where the first of them is. If the culprit is a pod that is not
// well itself, the group with that pod comes before its victims: what is wrong with it is why they wait.
func byCulprit(groups []group) (out []group) {
	placed := make([]bool, len(groups))
	var place func(i int)
	place = func(i int) {
		if placed[i] {
			return
		}
		placed[i] = true
		out = append(out, groups[i])
		for j := range groups { // its victims
			if c := groups[j].first.Culprit; c != nil && groups[i].has(c) {
				place(j)
			}
		}
	}
	for i := range groups {
		c := groups[i].first.Culprit
		if c != nil {
			place(rootOf(groups, i))
		}
		place(i)
		for j := i + 1; c != nil && j < len(groups); j++ {
			if other := groups[j].first.Culprit; other != nil && *other == *c {
				place(j)
			}
		}
	}
	return out
}

// rootOf returns the group with the culprit of a group, or with the culprit's own culprit, as far as there are such groups.
func rootOf(groups []group, i int) int {
	for range groups {
		c := groups[i].first.Culprit
		next := -1
		if c != nil {
			next = slices.IndexFunc(groups, func(g group) bool { return g.has(c) })
		}
		if next < 0 {
			break
		}
		i = next
	}
	return i
}

// has reports whether a culprit is one of the group's pods.
func (g *group) has(c *causes.Culprit) bool {
	return slices.ContainsFunc(g.pods, func(p groupPod) bool { return c.Is(p.Pod) })
}
