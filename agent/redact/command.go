package redact

import "strings"

// plainLists are the fields whose words are names, addresses and the like. Any
// other list of words is taken for a command.
var plainLists = map[string]bool{
	"actions": true, "containers": true, "podIPs": true, "ips": true, "dnsServers": true, "changed": true, "volume": true, "cgroup": true,
}

// List shows a field that is a list of words. The list is the kubelet's and
// is not touched.
func List(name string, words []string) []string {
	if !plainLists[name] {
		return Command(words)
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Text(w)
	}
	return out
}

// Command shows the program of a command and the names of its options. Any other word may be a secret: a script, a
// password that stands alone.
func Command(words []string) []string {
	out := options(words)
	if len(words) > 0 && strings.IndexByte(words[0], ' ') < 0 {
		out[0] = Text(words[0])
	}
	return out
}

// options is Command for words without a program in front.
func options(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = option(w)
	}
	return out
}

// option shows the part of a command's word that is the name of an option.
func option(w string) string {
	name := strings.TrimLeft(w, "-")
	dashes := len(w) - len(name)
	name, _, valued := strings.Cut(name, "=")
	switch {
	case w == "":
		return ""
	case dashes == len(w) && dashes <= 2:
		return w
	case dashes == 1 && len(name) == 1 && isLetter(name[0]) && !valued:
		return w
	case dashes == 1 && isLetter(name[0]):
		return w[:2] + Redacted // -psecret
	case dashes != 2 || !isOption(name):
		return Redacted
	case valued:
		return w[:dashes+len(name)+1] + Redacted
	}
	return w
}

// isOption reports whether a name is that of a long option: words in lower case.
func isOption(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c != '-' || i == 0) {
			return false
		}
	}
	return name != "" && len(name) <= 40
}
