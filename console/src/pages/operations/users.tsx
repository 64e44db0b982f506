import { Tenants } from "./tenants.tsx";

export default function Users() {
  return <Tenants kind="users" />;
}
