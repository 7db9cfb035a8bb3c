package redact

import "strings"

// programSecrets are the programs whose option of one letter is followed by a secret.
// For others it is something else, as in ls -a and grep -w.
var programSecrets = map[byte][]string{
	'a': {"redis-cli", "valkey-cli", "keydb-cli"},
	'w': {"ldapsearch", "ldapwhoami", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd"},
	'P': {"sqlcmd", "bcp", "mosquitto_pub", "mosquitto_sub"},
}

// joinedSecret reports how long an option of one letter is whose secret is joined to
// it: -psecret, -uuser:secret. 0 is for none. The option begins behind its dash at i,
// and its word ends at end.
func (t *scrubbing) joinedSecret(i, end int) int {
	word := t.s[i:end]
	if len(word) < 2 {
		return 0
	}
	switch {
	case word[0] == 'p':
		return 1
	case word[0] == 'u' && strings.IndexByte(word, ':') > 0 && !strings.Contains(word, "://"):
		return 1
	case t.behind(i, programSecrets[word[0]]):
		return 1
	}
	return 0
}

// behind reports whether the place is behind the name of one of the programs, in the
// same line.
func (t *scrubbing) behind(i int, programs []string) bool {
	if len(programs) == 0 {
		return false
	}
	before := t.s[max(0, i-maxBack):i]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	for _, p := range programs {
		at := strings.LastIndex(before, p)
		if at < 0 || at > 0 && isKey(before[at-1]) || isKey(before[at+len(p)]) {
			continue
		}
		return true
	}
	return false
}
