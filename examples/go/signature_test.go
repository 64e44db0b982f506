package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"
	"time"
)

const (
	url  = "http://127.0.0.1:3000/api/messages/receive"
	body = `{"text":"hello"}`
)

func signed(key, header, issuer, subject string, expires time.Time) string {
	digest := sha256.Sum256([]byte(body))
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"iss":%q,"sub":%q,"exp":%d,"nbf":0,"body":%q}`, issuer, subject, expires.Unix(), encode(digest[:]))
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

func TestVerify(t *testing.T) {
	keys := signingKeys{current: "sig_a", next: "sig_b"}
	hs256 := `{"alg":"HS256","typ":"JWT"}`
	later, earlier := time.Now().Add(time.Minute), time.Now().Add(-time.Minute)
	for _, row := range []struct {
		fact, token, body string
		isValid           bool
	}{
		{"the current key", signed("sig_a", hs256, "Upstash", url, later), body, true},
		{"the next key", signed("sig_b", hs256, "Upstash", url, later), body, true},
		{"another key", signed("sig_c", hs256, "Upstash", url, later), body, false},
		{"no key", signed("", hs256, "Upstash", url, later), body, false},
		{"another body", signed("sig_a", hs256, "Upstash", url, later), `{"text":"forged"}`, false},
		{"another address", signed("sig_a", hs256, "Upstash", "http://127.0.0.1:3000/", later), body, false},
		{"another issuer", signed("sig_a", hs256, "Nobody", url, later), body, false},
		{"another algorithm", signed("sig_a", `{"alg":"none"}`, "Upstash", url, later), body, false},
		{"an old signature", signed("sig_a", hs256, "Upstash", url, earlier), body, false},
		{"no signature", "", body, false},
	} {
		if err := keys.verify(row.token, url, []byte(row.body)); (err == nil) != row.isValid {
			t.Errorf("%s: %v", row.fact, err)
		}
	}
	if err := (signingKeys{}).verify(signed("", hs256, "Upstash", url, later), url, []byte(body)); err == nil {
		t.Error("without keys, every signature must be refused")
	}
}
