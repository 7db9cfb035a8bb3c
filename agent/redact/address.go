package redact

import "strings"

// Credentials in addresses: of URLs, of images, in what a URL asks for.

// inAddress takes the user and password out of the URL whose scheme ends at i, and the part of its path that is not
// made of words: hooks of many services have their key there.
func (t *scrubbing) inAddress(i int) (cut, bool) {
	from := i + len("://")
	end := t.wordEnd(from)
	at := t.userEnd(from, end)
	path, stop := t.keyInPath(i, max(at, from), end)
	switch {
	case at < 0 && path < 0:
		return cut{}, false
	case at < 0:
		return t.cutBetween(path, stop)
	case path < 0:
		return t.cutBetween(from, at)
	}
	return cut{from, stop, Redacted + t.s[at:path] + Redacted}, true
}

// userEnd returns where the @ is behind the user of the URL between from and end; less than 0: it has no user.
func (t *scrubbing) userEnd(from, end int) int {
	host := from
	for host < end && strings.IndexByte("/?#\\<>", t.s[host]) < 0 {
		host++
	}
	if at := strings.LastIndexByte(t.s[from:host], '@'); at >= 0 {
		return from + at
	}
	if !hasPassword(t.s[from:host]) {
		return -1
	}
	// A password may have any character, also an @. Behind the @ of an image is a digest.
	for at := end - 1; at > host; at-- {
		if t.s[at] == '@' && !isDigest(t.s[at+1:]) {
			return at
		}
	}
	return -1
}

// shownPaths begin the paths of registries and of the API server, which are made of names.
var shownPaths = []string{"/v2/", "/api/", "/apis/"}

// keyInPath finds the part of a path, up to its end, that is not made of words. The scheme of the URL ends at i, and
// the host begins at host or later. from is less than 0 if there is no such part.
func (t *scrubbing) keyInPath(i, host, end int) (from, stop int) {
	if !strings.HasSuffix(t.s[:i], "http") && !strings.HasSuffix(t.s[:i], "https") {
		return -1, 0
	}
	if n := strings.IndexAny(t.s[host:end], "?#\\<>"); n >= 0 {
		end = host + n
	}
	for end > host && strings.IndexByte(":,;.)]}", t.s[end-1]) >= 0 {
		end--
	}
	n := strings.IndexByte(t.s[host:end], '/')
	if n < 0 {
		return -1, 0
	}
	for _, p := range shownPaths {
		if strings.HasPrefix(t.s[host+n:end], p) {
			return -1, 0
		}
	}
	for part := host + n + 1; part < end; {
		next := part
		for next < end && t.s[next] != '/' {
			next++
		}
		if !isPathWord(t.s[part:next]) && t.s[part:next] != Redacted {
			return part, end
		}
		part = next + 1
	}
	return -1, 0
}

// isPathWord reports whether a part of a path is a word, a version, or an image.
func isPathWord(w string) bool {
	if name, digest, ok := strings.Cut(w, "@"); ok && isDigest(digest) {
		w = name
	}
	if len(w) >= 2 && len(w) <= 4 && w[0] == 'v' && isDigit(w[1]) {
		return true
	}
	for i := range len(w) {
		if c := w[i]; (c < 'a' || c > 'z') && strings.IndexByte("-_.", c) < 0 && (i > 0 || !isUpper(c)) {
			return false
		}
	}
	return len(w) <= 32
}

// hasPassword reports whether the text behind the colon of host:port is no port.
func hasPassword(host string) bool {
	_, port, ok := strings.Cut(host, ":")
	if !ok || strings.HasPrefix(host, "[") {
		return false
	}
	for i := range len(port) {
		if !isDigit(port[i]) {
			return true
		}
	}
	return false
}

// beforeAt takes user and password before the @ of an address without a scheme,
// such as an image's.
func (t *scrubbing) beforeAt(i int) (cut, bool) {
	from := i
	colon := false
	for from > max(t.done, i-maxBack) && !isSpace(t.s[from-1]) && strings.IndexByte("\"'`<>()[]{},;=\\", t.s[from-1]) < 0 {
		from--
		colon = colon || t.s[from] == ':'
	}
	if !colon || t.s[from] == ':' || i+1 >= len(t.s) || !isAlnum(t.s[i+1]) && t.s[i+1] != '[' || isDigest(t.s[i+1:]) {
		return cut{}, false
	}
	// A password may have an @ too.
	end := t.wordEnd(i)
	for at := end - 1; at > i; at-- {
		if t.s[at] == '@' && !isDigest(t.s[at+1:]) {
			return t.cutBetween(from, at)
		}
	}
	return t.cutBetween(from, i)
}

// isDigest reports whether s is the digest of an image, such as sha256:01ab.
func isDigest(s string) bool {
	i := 0
	for i < len(s) && isAlnum(s[i]) {
		i++
	}
	if i == 0 || i > 16 || i == len(s) || s[i] != ':' {
		return false
	}
	n := 0
	for _, c := range []byte(s[i+1:]) {
		if !isDigit(c) && (c < 'a' || c > 'f') {
			break
		}
		n++
	}
	return n >= 32
}

// harmlessQuery has the names in queries of URLs whose values may be shown.
var harmlessQuery = map[string]bool{
	"ns": true, "scope": true, "service": true, "timeout": true, "timeoutSeconds": true, "limit": true, "resourceVersion": true,
	"watch": true, "fieldSelector": true, "resourceVersionMatch": true, "allowWatchBookmarks": true,
}

// inQuery takes the value in a URL's query whose name begins behind i.
func (t *scrubbing) inQuery(i int) (cut, bool) {
	name := i + 1
	for name < len(t.s) && (isAlnum(t.s[name]) || strings.IndexByte("-_.~%[]*", t.s[name]) >= 0) {
		name++
	}
	if name == i+1 {
		return cut{}, false
	}
	if name < len(t.s) && t.s[name] == '=' {
		end := t.queryEnd(name)
		if harmlessQuery[t.s[i+1:name]] {
			// A harmless value is passed over: a colon or an = in it is no mark.
			t.done = end
			return cut{}, false
		}
		return t.cutBetween(name+1, end)
	}
	if t.s[i] == '?' && t.inURL(i) {
		return t.cutBetween(i+1, t.queryEnd(name))
	}
	return cut{}, false
}

// queryEnd returns where one value of a query ends. Punctuation that ends a sentence or a phrase is not part of it.
func (t *scrubbing) queryEnd(i int) int {
	for i < len(t.s) && !isSpace(t.s[i]) && strings.IndexByte("&\"'`<>\\#", t.s[i]) < 0 {
		i++
	}
	for i > 0 && strings.IndexByte(":,;.)]}", t.s[i-1]) >= 0 {
		i--
	}
	return i
}

// inURL reports whether the word before i has a scheme or is a path.
func (t *scrubbing) inURL(i int) bool {
	from := i
	for from > max(0, i-maxBack) && !isSpace(t.s[from-1]) && t.s[from-1] != '"' && t.s[from-1] != '\'' {
		from--
	}
	return strings.Contains(t.s[from:i], "://") || from < i && t.s[from] == '/'
}
