package client

import (
	"context"
	"net/http"
	"time"

	"github.com/p20export/p20export/capture/internal/exchange"
)

// preflightLimit limits the duration of a preflight request.
const preflightLimit = 30 * time.Second

// Preflight sends the OPTIONS request that a browser sends before a page of the origin may
// post JSON to the URL of s (the Fetch standard, section 4.8). It returns the status and the
// header of the response. Only the URL and the Tool of s are used, because a browser sends
// no header of the page.
func Preflight(ctx context.Context, s Settings, origin string) (status int, header http.Header, err error) {
	endpoint, err := parseURL(s.URL)
	if err != nil {
		return 0, nil, err
	}
	target := exchange.PublicURL(endpoint)
	endpoint.User = nil
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: endpoint})
	if err != nil {
		return 0, nil, failed(target, err)
	}
	ctx, cancel := context.WithTimeout(ctx, preflightLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodOptions, endpoint.String(), nil)
	if err != nil {
		return 0, nil, failed(target, err)
	}
	h := request.Header
	h.Set("User-Agent", "p20export/"+s.Tool.Version)
	h.Set("Origin", origin)
	h.Set("Access-Control-Request-Method", http.MethodPost)
	h.Set("Access-Control-Request-Headers", "content-type")
	client, closeIdle := newClient(proxy)
	defer closeIdle()
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, failed(target, err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header, nil
}
