package logstory

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The lines of CRI-O at its default level, from its package server: each call has a line when it begins and, if it does
// well, one when it ends. Both have the request's id and the method.

// ofCRIO begins the values that CRI-O puts behind the message of each line of a call.
const ofCRIO = ` id=`

// crioCall matches these values.
var crioCall = regexp.MustCompile(`^ id=([0-9a-f-]+) name=(/runtime\.v1[a-z0-9]*\.\w+/\w+)`)

// crioLine is a message of CRI-O, with what it says of the call.
type crioLine struct {
	*regexp.Regexp
	ended bool
}

// crioLines are the messages, by the method. The groups are fields of criLine; "of" is NAMESPACE/POD/CONTAINER.
var crioLines = map[string][]crioLine{
	"RunPodSandbox": {
		{regexp.MustCompile(`^Running pod sandbox: (?P<of>\S+)$`), false},
		{regexp.MustCompile(`^Ran pod sandbox (?P<made>\S+) with infra container: (?P<of>\S+)$`), true},
	},
	"CreateContainer": {
		{regexp.MustCompile(`^Creating container: (?P<of>\S+)$`), false},
		{regexp.MustCompile(`^Created container (?P<made>[^:\s]+): (?P<of>\S+)$`), true},
	},
	"StartContainer": {
		{regexp.MustCompile(`^Starting container: (?P<id>\S+)$`), false},
		{regexp.MustCompile(`^Started container$`), true},
	},
	"StopContainer": {
		{regexp.MustCompile(`^Stopping container: (?P<id>\S+) \(timeout: (?P<timeout>\d+)s\)$`), false},
		{regexp.MustCompile(`^Stopped container (?P<id>[^:\s]+): \S+$`), true},
	},
	"StopPodSandbox": {
		{regexp.MustCompile(`^Stopping pod sandbox: (?P<id>\S+)$`), false},
		{regexp.MustCompile(`^Stopped pod sandbox(?: \(already stopped\))?: (?P<id>\S+)$`), true},
	},
	"RemoveContainer": {
		{regexp.MustCompile(`^Removing container: (?P<id>\S+)$`), false},
		{regexp.MustCompile(`^Removed container (?P<id>[^:\s]+): \S+$`), true},
	},
	"RemovePodSandbox": {
		{regexp.MustCompile(`^Removing pod sandbox: (?P<id>\S+)$`), false},
		{regexp.MustCompile(`^Removed pod sandbox: (?P<id>\S+)$`), true},
	},
	"PullImage": {
		{regexp.MustCompile(`^Pulling image: (?P<image>\S+)$`), false},
		{regexp.MustCompile(`^Pulled image: (?P<made>\S+)$`), true},
	},
}

// startedID finds the container of a start, which is among the values.
var startedID = regexp.MustCompile(` containerID=([0-9a-f]+)`)

// readCRIO reads a line of CRI-O: its message, quoted, with what is before the values, and the values.
func readCRIO(quoted, values string) (c criLine, ok bool) {
	v := crioCall.FindStringSubmatch(values)
	message, rest, ok := unquote(quoted)
	if v == nil || !ok {
		return c, false
	}
	c.request, c.method = v[1], path.Base(v[2])
	for _, l := range crioLines[c.method] {
		if m := l.FindStringSubmatch(message); m != nil {
			c.ended = l.ended
			for i, name := range l.SubexpNames() {
				c.set(name, m[i])
			}
			if id := startedID.FindStringSubmatch(rest); id != nil {
				c.id = id[1]
			}
			return c, true
		}
	}
	return c, false
}

// set sets what a group of a message says.
func (c *criLine) set(name, text string) {
	switch name {
	case "of":
		parts := strings.SplitN(text, "/", 3)
		if len(parts) == 3 {
			c.namespace, c.name, c.container = parts[0], parts[1], parts[2]
		}
	case "made":
		c.made = text
	case "id":
		c.id = text
	case "image":
		c.image = text
	case "timeout":
		seconds, _ := strconv.Atoi(text)
		c.timeout = time.Duration(seconds) * time.Second
	}
}
