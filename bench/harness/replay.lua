-- Sends prepared requests in a circle. The file named by REQUESTS holds them one
-- behind the other, each after a line with its length in bytes.
-- At the end prints one line of JSON: what was sent and how long answers took.

local requests = {}
local file = assert(io.open(os.getenv("REQUESTS"), "rb"))
for line in file:lines() do
  requests[#requests + 1] = file:read(tonumber(line))
end
file:close()

local next_index = 0

request = function()
  next_index = next_index % #requests + 1
  return requests[next_index]
end

done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationMs":%.3f,"p50Ms":%.3f,"p99Ms":%.3f,"maxMs":%.3f,"failed":%d}\n',
    summary.requests, summary.duration / 1000,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
