package causes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// volumesChecks are the checks of table/volumes.yaml.
var volumesChecks = []check{
	(*Case).missingConfig, (*Case).refusedHostPath, (*Case).refusedToken, (*Case).claims, (*Case).attachments, (*Case).leaving, (*Case).drivers,
}

// volumes returns those of the pod that a container uses: the kubelet leaves the others alone.
func (c *Case) volumes() (out []corev1.Volume) {
	if c.Spec == nil {
		return nil
	}
	for _, v := range c.Spec.Spec.Volumes {
		if c.uses(v.Name, false) || c.uses(v.Name, true) {
			out = append(out, v)
		}
	}
	return out
}

// uses reports whether a container mounts a volume, or has it as a block device.
func (c *Case) uses(volume string, block bool) bool {
	for _, all := range [][]corev1.Container{c.Spec.Spec.InitContainers, c.Spec.Spec.Containers} {
		for i := range all {
			if block && slices.ContainsFunc(all[i].VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume }) ||
				!block && slices.ContainsFunc(all[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) {
				return true
			}
		}
	}
	return false
}

// isMissing reports whether the API server says that it does not have an object, such as secrets/db.
func (c *Case) isMissing(what string) bool { return slices.Contains(c.Cluster.Missing, what) }

// mountError is a reason why mounting a volume failed, as somebody reports it.
type mountError struct {
	volume, text string
	sure         Confidence
	since, next  time.Time
	shown        Evidence
}

var (
	mountFailed    = regexp.MustCompile(`MountVolume\.SetUp failed for volume "([^"]+)"\s+: (.*)`)
	mountFailedLog = regexp.MustCompile(`MountVolume\.SetUp failed for volume \\*"([^"\\]+)\\*" .*?\) : (.*)`)
)

// mountErrors returns why mounting failed, from the events, the story and the kubelet's log,
// the newest of each first.
func (c *Case) mountErrors() (out []mountError) {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if m := mountFailed.FindStringSubmatch(e.Message); m != nil && e.Reason == "FailedMount" && e.Kind == "Pod" && c.counts(e, &EventMatch{Again: againVolume}) {
			out = append(out, mountError{m[1], m[2], Likely, e.First, c.nextOperation(e), c.event(e)})
		}
	}
	if c.Story != nil {
		for i := range c.Story.Failed {
			k := &c.Story.Failed[i]
			if m := firstMatch(k.Error, mountFailedLog, mountFailed); m != nil {
				out = append(out, mountError{m[1], m[2], Certain, k.Began, time.Time{}, c.call(k)})
			}
		}
	}
	return append(out, c.loggedMountErrors()...)
}

func (c *Case) loggedMountErrors() (out []mountError) {
	if c.Machine == nil {
		return nil
	}
	for i := len(c.Machine.Lines) - 1; i >= 0; i-- {
		l := &c.Machine.Lines[i]
		m := firstMatch(cmp.Or(l.Error, l.Message), mountFailedLog, mountFailed)
		if m == nil || !c.named(l) && !strings.Contains(l.Error+l.Message, c.args["uid"]) || c.Now.Sub(l.At) > longestBackOff+operationTakes {
			continue
		}
		shown := Evidence{Source: evidence.Log, Where: words.Same(l.Where), Text: words.Same(cmp.Or(l.Error, l.Message)), At: l.At}
		out = append(out, mountError{m[1], m[2], Likely, l.At, time.Time{}, shown})
	}
	return out
}

// firstMatch returns the submatches of the first of the expressions that matches a text.
func firstMatch(text string, all ...*regexp.Regexp) []string {
	for _, e := range all {
		if m := e.FindStringSubmatch(text); m != nil {
			return m
		}
	}
	return nil
}

var hostPathRefused = regexp.MustCompile(`hostPath type check failed: (\S+) is not (?:a|an) ([a-z ]+)`)

// hostPathTypes are the kubelet's words for what a hostPath should be, in Chinese.
var hostPathTypes = map[string]string{
	"directory": "目录", "file": "文件", "socket file": "套接字文件", "character device": "字符设备", "block device": "块设备",
}

// refusedHostPath finds a hostPath that is not what it should be.
func (c *Case) refusedHostPath() (out []Finding) {
	for _, e := range c.mountErrors() {
		m := hostPathRefused.FindStringSubmatch(e.text)
		if m == nil {
			continue
		}
		what := strings.TrimSpace(m[2])
		args := Args{"subject": e.volume, "path": m[1], "what": "a " + what, "whatZh": cmp.Or(hostPathTypes[what], what)}
		out = append(out, c.findMount("volumes.hostPath", e.volume, args, &e))
	}
	return out
}

var tokenRefused = regexp.MustCompile(`failed to fetch token: (.*)|token \S+ expired and refresh failed: (.*)`)

// refusedToken finds a service account for which the API server gives no token.
func (c *Case) refusedToken() (out []Finding) {
	for _, e := range c.mountErrors() {
		if m := tokenRefused.FindStringSubmatch(e.text); m != nil && c.Spec != nil {
			args := Args{"subject": e.volume, "error": cmp.Or(m[1], m[2]), "serviceAccount": cmp.Or(c.Spec.Spec.ServiceAccountName, "default")}
			out = append(out, c.findMount("volumes.token", e.volume, args, &e))
		}
	}
	return out
}

// findMount makes a finding of a mount error.
func (c *Case) findMount(id, subject string, args Args, e *mountError) Finding {
	f := c.found(id, subject, args, e.sure, e.since, e.shown)
	f.Next = e.next
	return f
}
