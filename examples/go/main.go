// A page with a counter, a search over texts and a message, with the standard library alone.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

const (
	textsPerMinute = 5
	bodyBytesMax   = 1 << 20
)

type application struct {
	larder larder
	keys   signingKeys
}

func main() {
	app := application{larder: larderFromEnvironment(), keys: keysFromEnvironment()}
	address := variable("HOST", "127.0.0.1") + ":" + variable("PORT", "3000")
	log.Printf("The application is at http://%s", address)
	server := http.Server{Addr: address, Handler: app.routes(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

func (app application) routes() http.Handler {
	routes := map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /":                      app.page,
		"POST /api/texts":            app.addText,
		"GET /api/search":            app.search,
		"POST /api/messages":         app.send,
		"GET /api/messages":          app.messages,
		"POST /api/messages/receive": app.receive,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, isKnown := routes[r.Method+" "+r.URL.Path]
		if !isKnown {
			answer(w, http.StatusNotFound, map[string]string{"error": "Not found"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytesMax)
		if err := route(w, r); err != nil {
			log.Printf("%s %s: %v", r.Method, r.URL.Path, err)
			answer(w, http.StatusInternalServerError, map[string]string{"error": "Something went wrong"})
		}
	})
}

func (app application) page(w http.ResponseWriter, r *http.Request) error {
	var views int
	if err := app.larder.command(r.Context(), &views, "INCR", "views"); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err := fmt.Fprintf(w, "<h1>larder and Go</h1><p>%d views</p>", views)
	return err
}

func (app application) addText(w http.ResponseWriter, r *http.Request) error {
	// Behind a proxy, take the address that it reports. Here, all callers share the limit.
	count, err := app.larder.countInMinute(r.Context(), "texts:everybody")
	if err != nil {
		return err
	}
	if count > textsPerMinute {
		answer(w, http.StatusTooManyRequests, map[string]string{"error": "Too many texts"})
		return nil
	}
	var text struct{ ID, Text string }
	if err := json.NewDecoder(r.Body).Decode(&text); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "The body must be JSON"})
		return nil
	}
	if err := app.larder.upsertText(r.Context(), text.ID, text.Text); err != nil {
		return err
	}
	answer(w, http.StatusCreated, map[string]string{"id": text.ID})
	return nil
}

func (app application) search(w http.ResponseWriter, r *http.Request) error {
	hits, err := app.larder.queryText(r.Context(), r.URL.Query().Get("q"), 3)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]any{"texts": hits})
	return nil
}

func (app application) send(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	id, err := app.larder.publish(r.Context(), "http://"+r.Host+"/api/messages/receive", body)
	if err != nil {
		return err
	}
	answer(w, http.StatusAccepted, map[string]string{"messageId": id})
	return nil
}

func (app application) receive(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := app.keys.verify(r.Header.Get("Upstash-Signature"), "http://"+r.Host+r.URL.Path, body); err != nil {
		answer(w, http.StatusUnauthorized, map[string]string{"error": err.Error()})
		return nil
	}
	var message struct{ Text string }
	if err := json.Unmarshal(body, &message); err != nil {
		return err
	}
	if err := app.larder.command(r.Context(), nil, "RPUSH", "messages", message.Text); err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]bool{"received": true})
	return nil
}

func (app application) messages(w http.ResponseWriter, r *http.Request) error {
	messages := []string{}
	if err := app.larder.command(r.Context(), &messages, "LRANGE", "messages", 0, -1); err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]any{"messages": messages})
	return nil
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Print(err)
	}
}

func variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
