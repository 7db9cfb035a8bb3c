package redact

import "strings"

// The output of containers, and the commands that are run in them.

// inHook takes all that follows "lifecycle hook (": the command, its output, and how it failed.
func (t *scrubbing) inHook(i int) (cut, bool) {
	if !strings.HasSuffix(t.s[t.done:i], "lifecycle hook ") {
		return cut{}, false
	}
	return t.cutBetween(i, len(t.s))
}

// inCommand takes the command and its output behind "command " or "command timed out: ", with which the kubelet's CRI
// client begins its errors. How the command ended stays.
func (t *scrubbing) inCommand(i int) (cut, bool) {
	if i == t.done || t.s[i-1] != ' ' {
		return cut{}, false
	}
	before := strings.TrimSuffix(t.s[t.done:i], "timed out: ")
	if !strings.HasSuffix(strings.TrimRight(before, " :"), "command") {
		return cut{}, false
	}
	how, ok := howItEnded(t.s[i:])
	if !ok && t.whole && t.s[i] != '\'' {
		return cut{}, false // the word "command", and a name
	}
	return cut{i, len(t.s), Redacted + how}, true
}

// howItEnded returns the part of a command's error that tells how the command ended, without its output.
func howItEnded(s string) (how string, ok bool) {
	const exited, late = " exited with ", " timed out"
	if i := strings.Index(s, exited); i >= 0 {
		end := i + len(exited)
		for end < len(s) && end < i+len(exited)+4 && (isDigit(s[end]) || s[end] == '-') {
			end++
		}
		return s[i:end], true
	}
	if i := strings.Index(s, late); i >= 0 {
		rest := s[i+len(late):]
		if after, ok := strings.CutPrefix(rest, " after "); ok {
			n := 0
			for n < len(after) && n < 16 && (isAlnum(after[n]) || after[n] == '.' || after[n] == 'µ') {
				n++
			}
			return late + " after " + after[:n], true
		}
		return late, true
	}
	return "", false
}

// inExec takes the command out of the runtime's error, exec: "command": not found. A command that is only a path
// stays; one with more words is a whole command line in one.
func (t *scrubbing) inExec(i int) (cut, bool) {
	if !strings.HasSuffix(t.s[t.done:i], "exec") || !strings.HasPrefix(t.s[i:], ": ") {
		return cut{}, false
	}
	from, quote, escapes := t.opening(i + 2)
	if quote == 0 {
		return cut{}, false
	}
	end := t.closing(from, quote, escapes)
	line := t.s[from:end]
	if strings.IndexByte(line, ' ') < 0 {
		return cut{}, false
	}
	// The error repeats it: stat LINE: no such file or directory.
	rest := t.s[end:]
	by := Redacted + Text(strings.ReplaceAll(rest, line, Redacted))
	return cut{from, len(t.s), by}, true
}
