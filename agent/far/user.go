package far

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

const (
	// tokenFor is how long a token is valid: the least that API servers grant. A token with less than renewBefore left is
	// replaced.
	tokenFor    = 10 * time.Minute
	renewBefore = 2 * time.Minute
	// askAgain is how long a refusal counts: somebody may grant the right meanwhile.
	askAgain = 5 * time.Second
	// askWithin bounds a request for a token, on which a request to an agent waits.
	askWithin = 10 * time.Second
)

// user is a person at a cluster, as agents get to know them: by tokens of ServiceAccounts, and by the person's own name.
// Nothing proves that name to an agent.
type user struct {
	api *kubeapi.Client

	mu     sync.Mutex
	named  bool
	name   string
	tokens map[string]token // by NAMESPACE/ACCOUNT
}

// token is a token of a ServiceAccount, or why there is none. It has no String: nothing may print it.
type token struct {
	secret       string
	why          error
	renew, until time.Time
}

// identify returns the metadata with which an agent in a namespace gets to know the user, and why it has no token.
func (u *user) identify(ctx context.Context, namespace, account string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []string
	if name := u.self(ctx); name != "" {
		out = append(out, agentpb.UserKey, words.OneLine(name))
	}
	t := u.token(ctx, namespace, account)
	if t.secret == "" {
		return out, t.why
	}
	return append(out, agentpb.TokenKey, "Bearer "+t.secret), nil
}

// token returns the token of an account. If it cannot be renewed, the old one is used as long as it is valid. The caller
// holds mu.
func (u *user) token(ctx context.Context, namespace, account string) token {
	key, now := path.Join(namespace, account), time.Now()
	old, is := u.tokens[key]
	if is && now.Before(old.renew) {
		return old
	}
	next := u.request(ctx, namespace, account)
	if next.secret == "" && old.secret != "" && now.Before(old.until) {
		next = token{old.secret, nil, now.Add(askAgain), old.until}
	}
	u.tokens[key] = next
	return next
}

// request asks the API server for a token.
func (u *user) request(ctx context.Context, namespace, account string) token {
	var answer struct {
		Status struct {
			Token               string    `json:"token"`
			ExpirationTimestamp time.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	body := fmt.Sprintf(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[%q],"expirationSeconds":%d}}`, agentpb.Audience, int(tokenFor.Seconds()))
	err := u.api.Call(ctx, kubeapi.Request{
		Method: http.MethodPost, Path: "api/v1/namespaces/" + url.PathEscape(namespace) + "/serviceaccounts/" + account + "/token",
		ContentType: "application/json", Body: []byte(body),
	}, maxObject, &answer)
	if err != nil {
		return token{why: u.noToken(err, namespace, account), renew: time.Now().Add(askAgain)}
	}
	until := answer.Status.ExpirationTimestamp
	return token{answer.Status.Token, nil, until.Add(-renewBefore), until}
}

// noToken says why the API server gave no token, and what to do.
func (u *user) noToken(err error, namespace, account string) error {
	switch {
	case kubeapi.IsCode(err, http.StatusNotFound):
		return client.Fail(client.Denied, err, words.Text("there is no such ServiceAccount: the chart makes it", "没有这个 ServiceAccount：chart 会创建它"))
	case kubeapi.IsCode(err, http.StatusForbidden):
		return client.Fail(client.Denied, err, words.Text("you may not make such a token, and this command of an administrator grants it: %s", "你无权申请这种令牌，管理员用这条命令授权：%s"), grant(roleIn(namespace, account), u.name))
	}
	return client.Fail(client.Denied, err, words.Text("the API server gave no such token: %s", "API 服务器没有给出这种令牌：%s"), err)
}

// self returns the name by which the API server knows the user; "" if it does not say it. The caller holds mu.
func (u *user) self(ctx context.Context) string {
	if !u.named {
		name, err := whoAmI(ctx, u.api)
		u.name, u.named = name, err == nil
	}
	return u.name
}

// Self returns the name by which the API server knows the user. Servers before Kubernetes 1.28 do not say it: then it is
// empty.
func (c *Cluster) Self(ctx context.Context) (string, error) { return whoAmI(ctx, c.api) }

func whoAmI(ctx context.Context, api *kubeapi.Client) (string, error) {
	var answer struct {
		Status struct {
			UserInfo struct {
				Username string `json:"username"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	const group = "authentication.k8s.io/v1"
	err := api.Call(ctx, kubeapi.Request{
		Method: http.MethodPost, Path: "apis/" + group + "/selfsubjectreviews", ContentType: "application/json",
		Body: []byte(`{"apiVersion":"` + group + `","kind":"SelfSubjectReview"}`),
	}, maxObject, &answer)
	if kubeapi.IsCode(err, http.StatusNotFound, http.StatusForbidden) {
		return "", nil
	}
	return answer.Status.UserInfo.Username, err
}
