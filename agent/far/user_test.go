package far

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

const (
	tokenPath = "/api/v1/namespaces/kube-system/serviceaccounts/podstep-hold/token"
	selfPath  = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	// canary begins each token that the API server gives here.
	canary = "eyJ-canary"
)

// tokens is an API server that gives tokens.
type tokens struct {
	*apitest.Server
	valid time.Duration // how long the next is valid
}

func newTokens(t *testing.T) *tokens {
	s := &tokens{valid: tokenFor}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+selfPath, func(w http.ResponseWriter, _ *http.Request) {
		apitest.Answer(w, http.StatusCreated, authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
			UserInfo: authenticationv1.UserInfo{Username: "ada\n\x1b[31m"},
		}})
	})
	given := 0
	mux.HandleFunc("POST "+tokenPath, func(w http.ResponseWriter, _ *http.Request) {
		given++
		apitest.Answer(w, http.StatusCreated, authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: fmt.Sprint(canary, given), ExpirationTimestamp: metav1.NewTime(time.Now().Add(s.valid)),
		}})
	})
	s.Server = apitest.Start(t, mux)
	return s
}

// TestTokens: a token is asked for once, and again before it lapses. One that cannot be renewed counts until it lapses;
// then the reason says what to do. No text has a token in it.
func TestTokens(t *testing.T) {
	const minute = time.Minute
	for name, c := range map[string]struct {
		// valid is how long each token is valid, and refused the code of the answer, or 0, at each request to an agent.
		valid   []time.Duration
		refused []int
		// tokens are those that the agent gets, asks the requests to the API server by then, and why is part of the last
		// reason.
		tokens []string
		asks   []int
		why    string
	}{
		"asked for once":         {[]time.Duration{10 * minute, 10 * minute}, []int{0, 0}, []string{"1", "1"}, []int{1, 1}, ""},
		"renewed":                {[]time.Duration{minute, 10 * minute, minute}, []int{0, 0, 0}, []string{"1", "2", "2"}, []int{1, 2, 2}, ""},
		"not renewed, valid":     {[]time.Duration{minute, minute, minute}, []int{0, 403, 403}, []string{"1", "1", "1"}, []int{1, 2, 2}, ""},
		"not renewed, lapsed":    {[]time.Duration{-minute, minute}, []int{0, 403}, []string{"1", ""}, []int{1, 2}, "kubectl create rolebinding podstep-hold-ada"},
		"forbidden":              {[]time.Duration{minute, minute}, []int{403, 403}, []string{"", ""}, []int{1, 1}, "-n kube-system --role=podstep-hold --user='ada"},
		"no such account":        {[]time.Duration{minute}, []int{404}, []string{""}, []int{1}, "the chart makes it"},
		"the API server fails":   {[]time.Duration{minute}, []int{500}, []string{""}, []int{1}, "the API server gave no such token"},
		"allowed after a moment": {[]time.Duration{minute, minute}, []int{500, 0}, []string{"", ""}, []int{1, 1}, "the API server gave no such token"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTokens(t)
			u := &user{api: s.Client(t), tokens: map[string]token{}}
			var why error
			for i := range c.valid {
				s.valid = c.valid[i]
				s.Refuse(tokenPath, c.refused[i])
				pairs, err := u.identify(t.Context(), "kube-system", agentpb.AccountHold)
				if got := valueOf(pairs, agentpb.UserKey); !strings.HasPrefix(got, "ada") || strings.ContainsAny(got, "\n\x1b") {
					t.Errorf("request %d has the user %q", i, got)
				}
				want := ""
				if c.tokens[i] != "" {
					want = "Bearer " + canary + c.tokens[i]
				}
				if got := valueOf(pairs, agentpb.TokenKey); got != want || (got == "") != (err != nil) {
					t.Errorf("request %d has the token %q, want %q; %v", i, got, want, err)
				}
				if asked := len(s.RequestsFor(tokenPath)); asked != c.asks[i] {
					t.Errorf("by request %d the API server was asked for %d tokens, want %d", i, asked, c.asks[i])
				}
				why = err
			}
			if text := fmt.Sprint(why); !strings.Contains(text, c.why) || strings.Contains(text, canary) {
				t.Errorf("the reason is %q, want %q in it", text, c.why)
			}
			for _, r := range s.RequestsFor(tokenPath) {
				if !strings.Contains(r.Body, `"audiences":["`+agentpb.Audience+`"]`) {
					t.Errorf("a token for others than agents was asked for: %s", r.Body)
				}
			}
		})
	}
}

// TestUserUnknown: an API server before Kubernetes 1.28 does not say who the user is.
func TestUserUnknown(t *testing.T) {
	s := newTokens(t)
	s.Refuse(selfPath, http.StatusNotFound)
	s.Refuse(tokenPath, http.StatusForbidden)
	u := &user{api: s.Client(t), tokens: map[string]token{}}
	pairs, err := u.identify(t.Context(), "kube-system", agentpb.AccountHold)
	if len(pairs) > 0 || err == nil || !strings.Contains(err.Error(), "--user=NAME") {
		t.Errorf("%q, %v", pairs, err)
	}
}

// TestGrant: a name with any characters stays one word of the command, and makes a binding's name that is allowed.
func TestGrant(t *testing.T) {
	for name, want := range map[string]string{
		"":                          "kubectl create clusterrolebinding podstep-find-name --clusterrole=podstep-find --user=NAME",
		"Ada@example.org":           "kubectl create clusterrolebinding podstep-find-ada-example.org --clusterrole=podstep-find --user=Ada@example.org",
		"system:serviceaccount:a:b": "kubectl create clusterrolebinding podstep-find-system-serviceaccount-a-b --clusterrole=podstep-find --user=system:serviceaccount:a:b",
		"x; rm -rf /":               "kubectl create clusterrolebinding podstep-find-x-rm-rf --clusterrole=podstep-find --user='x; rm -rf /'",
		"o'neil$(id)":               `kubectl create clusterrolebinding podstep-find-o-neil-id --clusterrole=podstep-find --user='o'\''neil$(id)'`,
		"阿达":                        "kubectl create clusterrolebinding podstep-find --clusterrole=podstep-find --user='阿达'",
	} {
		if got := grant(findRole, name); got != want {
			t.Errorf("%q:\n%s, want\n%s", name, got, want)
		}
	}
}

// valueOf returns the value of a key in metadata.
func valueOf(pairs []string, key string) string {
	if i := slices.Index(pairs, key); i >= 0 {
		return pairs[i+1]
	}
	return ""
}
