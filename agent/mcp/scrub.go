package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/redact"
)

// Private is a text of this machine that must not leave it, such as the path of a kubeconfig, and what stands in its
// place.
type Private struct {
	Text string
	As   string
	// Word is set for a text that is a name and may be a usual word, too. It is taken out where podstep speaks of its
	// sources, and left in what it shows of pods.
	Word bool
}

// A shorter private text would be found where it is not meant; in bytes.
const (
	shortest     = 5
	shortestWord = 3
)

// scrubber takes private texts out of answers.
type scrubber struct {
	everywhere, ofSources *strings.Replacer
}

func newScrubber(private []Private) *scrubber {
	private = slices.Clone(private)
	// Of two texts of which one begins with the other, the longer comes first.
	slices.SortStableFunc(private, func(a, b Private) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	var everywhere, ofSources []string
	for _, p := range private {
		switch {
		case len(p.Text) < shortestWord || len(p.Text) < shortest && !p.Word:
		case p.Word:
			ofSources = append(ofSources, p.Text, p.As)
		default:
			everywhere = append(everywhere, p.Text, p.As)
			ofSources = append(ofSources, p.Text, p.As)
		}
	}
	return &scrubber{strings.NewReplacer(everywhere...), strings.NewReplacer(ofSources...)}
}

var (
	anyURL  = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	anyPath = regexp.MustCompile(`(^|[\s"'(=:,;<>\[，：；（])(~?/[^\s"'<>,;:()\[\]，：；（）]+)`)
	// withSpaces matches paths of which one knows where they end.
	withSpaces = regexp.MustCompile(`(")/[^"]* [^"]*(")|((?:open|stat|lstat|read|readlink|connect|unix) )/[^:"]* [^:"]*(:)`)
	anyIP      = regexp.MustCompile(`(^|[^0-9A-Za-z.])(?:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[[0-9A-Fa-f:.%]*:[0-9A-Za-z:.%]*\])(:\d+)?`)
	anyUser    = regexp.MustCompile(`[Uu]ser "[^"]*"`)
)

// common are paths that every node has, or every kubelet serves. They say nothing of this machine.
var commonPaths = []string{"/proc", "/sys", "/sys/fs/cgroup", "/dev", "/pods", "/configz", "/metrics", "/healthz"}

// sources returns a text about podstep's sources without all that looks like a path, an address or a name of a user.
func (s *scrubber) sources(text string) string {
	text = anyURL.ReplaceAllString(redact.Text(text), "[address]")
	text = s.ofSources.Replace(text)
	text = withSpaces.ReplaceAllString(text, "$1$3[path]$2$4")
	text = anyPath.ReplaceAllStringFunc(text, func(found string) string {
		m := anyPath.FindStringSubmatch(found)
		if slices.Contains(commonPaths, strings.TrimRight(m[2], ".")) {
			return found
		}
		return m[1] + "[path]"
	})
	text = anyIP.ReplaceAllString(text, "$1[address]")
	return anyUser.ReplaceAllString(text, `user "[user]"`)
}

// document takes private texts out of a document. With sources, or below a member called unseen, its texts are about
// podstep's sources.
func (s *scrubber) document(raw json.RawMessage, sources bool) (json.RawMessage, error) {
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		clean := s.everywhere.Replace(text)
		if sources {
			clean = s.sources(text)
		}
		if clean == text {
			return raw, nil
		}
		return encoded(clean), nil
	case '{', '[':
		return s.members(raw, sources)
	}
	return raw, nil
}

func (s *scrubber) members(raw json.RawMessage, sources bool) (json.RawMessage, error) {
	members, err := membersOf(raw)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte(raw[0])
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		if m.key != "" {
			key, err := s.document(json.RawMessage(m.key), false)
			if err != nil {
				return nil, err
			}
			b.Write(append(key, ':'))
		}
		value, err := s.document(m.raw, sources || m.key == `"`+unseenKey+`"`)
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte(raw[0] + 2) // the bracket that closes it
	return b.Bytes(), nil
}
