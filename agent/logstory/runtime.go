package logstory

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The lines of containerd at its default level, from its package internal/cri/instrument: each call of the CRI that
// changes something has a line when it begins, and one when it ends.

// runtimeTime reads the time with which a line of containerd or of CRI-O begins.
func runtimeTime(line string) (at time.Time, ok bool) {
	rest, ok := strings.CutPrefix(line, `time="`)
	if !ok {
		return at, false
	}
	text, _, ok := strings.Cut(rest[:min(len(rest), 64)], `"`)
	if !ok {
		return at, false
	}
	const date = len("2006-01-02")
	if len(text) > date && text[date] == ' ' { // CRI-O writes a blank
		text = text[:date] + "T" + text[date+1:]
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return at.UTC(), err == nil
}

// criLine is what a line of a runtime says of a call.
type criLine struct {
	method string
	// ended: it is over; failed: with err.
	ended, failed bool
	err           string
	// id is the sandbox or container that the call is about, made the one that it has made.
	id, made  string
	sandbox   string
	container string // by name
	namespace string
	name, uid string // of the pod
	image     string
	attempt   int
	timeout   time.Duration
	// request tells CRI-O's calls apart: both ends of a call have it.
	request string
}

var (
	ofSandbox   = regexp.MustCompile(`^RunPodSandbox for (?:&PodSandboxMetadata\{Name:([^,]*),Uid:([^,]*),Namespace:([^,]*),Attempt:(\d+),\}|name:"([^"]*)" +uid:"([^"]*)" +namespace:"([^"]*)"(?: +attempt:(\d+))?)(.*)$`)
	ofCreate    = regexp.MustCompile(`^CreateContainer within sandbox "([^"]+)" for (?:container )?(?:&ContainerMetadata\{Name:([^,]*),Attempt:(\d+),\}|name:"([^"]*)"(?: +attempt:(\d+))?)(.*)$`)
	ofOne       = regexp.MustCompile(`^(StartContainer|StopContainer|StopPodSandbox|RemoveContainer|RemovePodSandbox) (?:for )?"([^"]+)"(.*)$`)
	ofPull      = regexp.MustCompile(`^PullImage "([^"]+)"(.*)$`)
	madeID      = regexp.MustCompile(`^ returns (?:sandbox id|container id|image reference) "([^"]+)"`)
	withTimeout = regexp.MustCompile(`^ with timeout (\d+)`)
)

// criVerbs are the beginnings of the lines that are read.
var criVerbs = []string{"RunPodSandbox ", "CreateContainer ", "StartContainer ", "StopContainer ", "StopPodSandbox ", "RemoveContainer ", "RemovePodSandbox ", "PullImage "}

// readCRI reads a line of containerd or of CRI-O; ok is false if it is about no call that is a step.
func readCRI(line string) (c criLine, ok bool) {
	i := strings.Index(line, ` msg="`)
	if i < 0 {
		return c, false
	}
	if at := strings.Index(line, ofCRIO); at > i {
		return readCRIO(line[i+len(` msg=`):at], line[at:])
	}
	quoted := line[i+len(` msg=`):]
	for _, verb := range criVerbs {
		ok = ok || strings.HasPrefix(quoted[1:], verb)
	}
	if !ok {
		return c, false
	}
	message, values, ok := unquote(quoted)
	if !ok {
		return c, false
	}
	rest, ok := c.readCall(message)
	if !ok {
		return c, false
	}
	switch {
	case strings.HasPrefix(rest, " returns"):
		c.ended = true
		if m := madeID.FindStringSubmatch(rest); m != nil {
			c.made = m[1]
		}
	case strings.HasPrefix(rest, " failed"):
		c.ended, c.failed, c.err = true, true, errorOf(values)
	default:
		if m := withTimeout.FindStringSubmatch(rest); m != nil {
			seconds, _ := strconv.Atoi(m[1])
			c.timeout = time.Duration(seconds) * time.Second
		}
	}
	return c, true
}

// readCall reads which call a message is about, and returns the rest of the message.
func (c *criLine) readCall(message string) (rest string, ok bool) {
	either := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	if m := ofSandbox.FindStringSubmatch(message); m != nil {
		c.method = "RunPodSandbox"
		c.name, c.uid, c.namespace = either(m[1], m[5]), either(m[2], m[6]), either(m[3], m[7])
		c.attempt, _ = strconv.Atoi(either(m[4], m[8]))
		return m[9], true
	}
	if m := ofCreate.FindStringSubmatch(message); m != nil {
		c.method, c.sandbox, c.container = "CreateContainer", m[1], either(m[2], m[4])
		c.attempt, _ = strconv.Atoi(either(m[3], m[5]))
		return m[6], true
	}
	if m := ofOne.FindStringSubmatch(message); m != nil {
		c.method, c.id = m[1], m[2]
		return m[3], true
	}
	if m := ofPull.FindStringSubmatch(message); m != nil {
		c.method, c.image = "PullImage", m[1]
		return m[2], true
	}
	return "", false
}

// errorOf returns the error among the values behind a message.
func errorOf(values string) string {
	_, rest, ok := strings.Cut(values, ` error="`)
	if !ok {
		return "failed"
	}
	if text, _, ok := unquote(`"` + rest); ok {
		return text
	}
	return "failed"
}

// unquote reads a text in quotes, and returns what comes after it, too.
func unquote(s string) (text, rest string, ok bool) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", s, false
	}
	text, err = strconv.Unquote(q)
	return text, s[len(q):], err == nil
}
