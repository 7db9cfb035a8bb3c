package causes

import (
	"regexp"
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Reading is how far what podstep read for a cause holds for the node's kubelet, if it was read in another minor version.
type Reading struct {
	Read    string `json:"read"`    // the minor version that podstep read
	Kubelet string `json:"kubelet"` // that of the node's kubelet
	// Unread is set if podstep knows nothing of that minor version. Otherwise Different has the cited functions that are different
	// in it, and Missing those that it does not have.
	Unread    bool     `json:"unread,omitempty"`
	Different []string `json:"different,omitempty"`
	Missing   []string `json:"missing,omitempty"`
}

// ofKubelet are the directories with code that the kubelet alone runs. Of all other programs no version is known.
var ofKubelet = regexp.MustCompile(`^pkg/(kubelet|credentialprovider|probe)(/|$)`)

// readingFor compares what a cause cites with a kubelet of a version; nil: all of it is the same there, or nothing is known.
func (c *Cause) readingFor(version string) *Reading {
	r := &Reading{Read: minorOf(probes.KubernetesVersion), Kubelet: minorOf(version)}
	for _, of := range c.Cited() {
		if r.Kubelet == "" || of.Name == "" || !ofKubelet.MatchString(of.File) {
			continue
		}
		switch of.In(version) {
		case Different:
			r.Different = append(r.Different, of.Name)
		case Absent:
			r.Missing = append(r.Missing, of.Name)
		case Same:
		default:
			r.Unread = true
		}
	}
	if !r.Unread && r.Different == nil && r.Missing == nil {
		return nil
	}
	return r
}

// compareReadings gives each finding its Reading, if the snapshot has the version of the node's kubelet.
func (r *Report) compareReadings(s *evidence.Snapshot) {
	if s.Cluster.Node == nil {
		return
	}
	for i := range r.Findings {
		r.Findings[i].Reading = r.Findings[i].Cause.readingFor(s.Cluster.Node.Status.NodeInfo.KubeletVersion)
	}
}

// In returns the reading in words; empty for nil.
func (r *Reading) In(l words.Lang) string {
	if r == nil {
		return ""
	}
	list := func(t probes.Text, names []string) string {
		if len(names) == 0 {
			return ""
		}
		return l.Inf(t, r.Kubelet, strings.Join(names, l.In(words.Text(", ", "、"))))
	}
	unread := ""
	if r.Unread {
		unread = l.Inf(words.Text("It has not read %s.", "没有读过 %s。"), r.Kubelet)
	}
	return l.Sentences(
		l.Inf(words.Text("podstep read this in %s.", "podstep 读的是 %s。"), r.Read), unread,
		list(words.Text("Different in %s: %s.", "在 %s 中不同：%s。"), r.Different),
		list(words.Text("Not there by this name in %s: %s.", "在 %s 中没有这个名字：%s。"), r.Missing),
	)
}
