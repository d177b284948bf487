++ x
select 1;
select 3;
