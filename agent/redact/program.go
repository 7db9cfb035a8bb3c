package redact

import "strings"

// programSecrets has the programs for which a secret follows an option of one letter. In other programs the letter
// means something else, as in ls -a and grep -w.
var programSecrets = map[byte][]string{
	'a': {"redis-cli", "valkey-cli", "keydb-cli"},
	'w': {"ldapsearch", "ldapwhoami", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd"},
	'P': {"sqlcmd", "bcp", "mosquitto_pub", "mosquitto_sub"},
}

// joinedSecret returns the length of an option of one letter to which a secret is joined, as in -psecret and
// -uuser:secret; 0: there is none. The option begins behind its dash at i, and its word ends at end.
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

// behind reports whether place i is behind the name of one of the programs, in the same line.
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
