// Package tokens asks the API server whose the tokens are that clients of other machines show to an agent.
package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/server"
)

const (
	// remembered is how long an answer counts: a token that is over, or whose ServiceAccount was deleted, is refused after
	// that time at the latest.
	remembered = 10 * time.Second
	// maxRemembered bounds how many answers are kept, and maxToken how long a token is, in bytes.
	maxRemembered = 256
	maxToken      = 16 << 10
	// askWithin bounds a review.
	askWithin = 5 * time.Second
	maxAnswer = 1 << 20
	// credentialID is where API servers from Kubernetes 1.32 on state a token's id.
	credentialID = "authentication.kubernetes.io/credential-id"
	ofAccounts   = "system:serviceaccount:"
)

// Reviewer reviews tokens at an API server.
type Reviewer struct {
	api    *kubeapi.Client
	wrong  error // why there is no API server
	within time.Duration

	mu   sync.Mutex
	seen map[[sha256.Size]byte]verdict
}

// verdict is what the API server said about a token.
type verdict struct {
	account server.Account
	why     *agentpb.Problem
	until   time.Time
}

// New makes a Reviewer for an API server. If that is nil, no token counts, because of the error.
func New(config *rest.Config, why error) *Reviewer {
	r := &Reviewer{within: remembered, seen: map[[sha256.Size]byte]verdict{}, wrong: why}
	switch {
	case config != nil:
		config = rest.CopyConfig(config)
		config.UserAgent = kubeapi.UserAgent("attach/tokens")
		r.api, r.wrong = kubeapi.New(config)
	case why == nil:
		r.wrong = errors.New("it knows no API server")
	}
	return r
}

// Check reports whether tokens can be reviewed. It asks about a text that is no token: the API server only has to answer.
func (r *Reviewer) Check(ctx context.Context) error {
	_, err := r.ask(ctx, "none")
	return err
}

// Review returns the ServiceAccount and the id of a token, or why the token does not count.
func (r *Reviewer) Review(ctx context.Context, token string) (server.Account, *agentpb.Problem) {
	if len(token) > maxToken {
		return server.Account{}, problem(agentpb.Problem_TOKEN_INVALID, "error", "it is too long")
	}
	key := sha256.Sum256([]byte(token))
	r.mu.Lock()
	v, is := r.seen[key]
	r.mu.Unlock()
	if is && time.Now().Before(v.until) {
		return v.account, v.why
	}
	status, err := r.ask(ctx, token)
	if err != nil {
		return server.Account{}, problem(agentpb.Problem_TOKEN_UNCHECKED, "error", err.Error())
	}
	v = judge(status)
	v.until = time.Now().Add(r.within)
	r.keep(key, v)
	return v.account, v.why
}

// keep remembers a verdict, if there is room.
func (r *Reviewer) keep(key [sha256.Size]byte, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(r.seen, func(_ [sha256.Size]byte, v verdict) bool { return now.After(v.until) })
	if len(r.seen) < maxRemembered {
		r.seen[key] = v
	}
}

// ask asks the API server about a token. Its error does not have the token.
func (r *Reviewer) ask(ctx context.Context, token string) (*authv1.TokenReviewStatus, error) {
	if r.wrong != nil {
		return nil, r.wrong
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	review := authv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
		Spec:     authv1.TokenReviewSpec{Token: token, Audiences: []string{agentpb.Audience}},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	var answer authv1.TokenReview
	err = r.api.Call(ctx, kubeapi.Request{Method: "POST", Path: "apis/authentication.k8s.io/v1/tokenreviews", ContentType: "application/json", Body: body}, maxAnswer, &answer)
	if err != nil {
		return nil, errors.New(redact.Text(strings.ReplaceAll(err.Error(), token, "<redacted>")))
	}
	return &answer.Status, nil
}
