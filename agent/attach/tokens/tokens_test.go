package tokens

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	authv1 "k8s.io/api/authentication/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/server"
)

// answers has what an API server says of tokens.
var answers = map[string]authv1.TokenReviewStatus{
	"hold": {
		Authenticated: true, Audiences: []string{"podstep"},
		User: authv1.UserInfo{Username: "system:serviceaccount:kube-system:podstep-hold", Extra: map[string]authv1.ExtraValue{credentialID: {"JTI=7"}}},
	},
	"over":        {Error: "token has expired"},
	"no audience": {Authenticated: true, User: authv1.UserInfo{Username: "system:serviceaccount:kube-system:podstep-hold"}},
	"person":      {Authenticated: true, Audiences: []string{"podstep"}, User: authv1.UserInfo{Username: "alice"}},
}

func startAPIServer(t *testing.T) *apitest.Server {
	return apitest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || len(review.Spec.Audiences) != 1 {
			t.Errorf("asked is %+v, %v", review, err)
		}
		review.Status = answers[review.Spec.Token]
		apitest.Answer(w, http.StatusCreated, review)
	}))
}

// TestReview: a review tells the tokens that count from the others, with the account and the id, or the reason.
func TestReview(t *testing.T) {
	r := New(startAPIServer(t).Config(), nil)
	for token, want := range map[string]agentpb.Problem_Code{
		"hold": 0, "over": agentpb.Problem_TOKEN_INVALID, "unknown": agentpb.Problem_TOKEN_INVALID, "no audience": agentpb.Problem_TOKEN_INVALID,
		"person": agentpb.Problem_TOKEN_OF_OTHER, strings.Repeat("x", maxToken+1): agentpb.Problem_TOKEN_INVALID,
	} {
		account, why := r.Review(t.Context(), token)
		if why.GetCode() != want || want == 0 && account != (server.Account{Namespace: "kube-system", Name: "podstep-hold", Credential: "JTI=7"}) {
			t.Errorf("%.20s: %+v, %v", token, account, why)
		}
	}
}

// TestReviewIsRemembered: the API server is asked once about a token, and again when the answer is old.
func TestReviewIsRemembered(t *testing.T) {
	api := startAPIServer(t)
	r := New(api.Config(), nil)
	for range 3 {
		r.Review(t.Context(), "hold")
	}
	if n := len(api.Requests()); n != 1 {
		t.Errorf("the API server was asked %d times", n)
	}
	r = New(api.Config(), nil)
	r.within = 0
	r.Review(t.Context(), "hold")
	answers := len(api.Requests())
	if r.Review(t.Context(), "hold"); len(api.Requests()) != answers+1 {
		t.Error("an old answer counts")
	}
}

// TestNotReviewed: where no token can be reviewed none counts, the reason is said, and the token is not.
func TestNotReviewed(t *testing.T) {
	api := startAPIServer(t)
	api.Refuse("/apis/authentication.k8s.io/v1/tokenreviews", http.StatusForbidden)
	for name, r := range map[string]*Reviewer{"no right": New(api.Config(), nil), "no API server": New(nil, nil)} {
		_, why := r.Review(t.Context(), "hold-secret")
		if why.GetCode() != agentpb.Problem_TOKEN_UNCHECKED || r.Check(t.Context()) == nil || strings.Contains(reason.Problem(why).En, "hold-secret") {
			t.Errorf("%s: %v", name, why)
		}
	}
}
