package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// An area of larder: its address, and the token of its requests.
type area struct{ url, token string }

type larder struct{ store, vector, messaging area }

type hit struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
	Text  string  `json:"text"`
}

var httpClient = &http.Client{Timeout: 30 * time.Second}

func larderFromEnvironment() larder {
	return larder{
		store:     area{os.Getenv("UPSTASH_REDIS_REST_URL"), os.Getenv("UPSTASH_REDIS_REST_TOKEN")},
		vector:    area{os.Getenv("UPSTASH_VECTOR_REST_URL"), os.Getenv("UPSTASH_VECTOR_REST_TOKEN")},
		messaging: area{os.Getenv("QSTASH_URL"), os.Getenv("QSTASH_TOKEN")},
	}
}

// command runs a command of the store, for example "INCR", "views", and decodes its result unless result is nil.
func (l larder) command(ctx context.Context, result any, words ...any) error {
	var reply struct{ Result json.RawMessage }
	if err := l.store.post(ctx, "/", words, &reply); err != nil || result == nil {
		return err
	}
	return json.Unmarshal(reply.Result, result)
}

// countInMinute counts a call, and returns how many there were since the first one of a minute.
func (l larder) countInMinute(ctx context.Context, key string) (int, error) {
	var replies []struct {
		Result json.RawMessage
		Error  string
	}
	commands := [][]any{{"SET", key, 0, "EX", 60, "NX"}, {"INCR", key}}
	if err := l.store.post(ctx, "/multi-exec", commands, &replies); err != nil {
		return 0, err
	}
	if last := replies[len(replies)-1]; last.Error != "" {
		return 0, fmt.Errorf("INCR: %s", last.Error)
	}
	var count int
	return count, json.Unmarshal(replies[len(replies)-1].Result, &count)
}

func (l larder) upsertText(ctx context.Context, id, text string) error {
	return l.vector.post(ctx, "/upsert-data", map[string]any{"id": id, "data": text}, nil)
}

func (l larder) queryText(ctx context.Context, words string, count int) ([]hit, error) {
	var reply struct {
		Result []struct {
			ID    string
			Score float64
			Data  string
		}
	}
	query := map[string]any{"data": words, "topK": count, "includeData": true}
	if err := l.vector.post(ctx, "/query-data", query, &reply); err != nil {
		return nil, err
	}
	hits := []hit{}
	for _, found := range reply.Result {
		hits = append(hits, hit{found.ID, found.Score, found.Data})
	}
	return hits, nil
}

// publish has a JSON body delivered to an address, and returns the id of the message.
func (l larder) publish(ctx context.Context, destination string, body []byte) (string, error) {
	var reply struct{ MessageID string }
	err := l.messaging.post(ctx, "/v2/publish/"+destination, json.RawMessage(body), &reply)
	return reply.MessageID, err
}

func (a area) post(ctx context.Context, path string, body, reply any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := httpClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		var failure struct{ Error string }
		_ = json.NewDecoder(response.Body).Decode(&failure)
		return fmt.Errorf("POST %s: %s %s", path, response.Status, failure.Error)
	}
	if reply == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(reply)
}
